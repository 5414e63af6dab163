# SPDX-License-Identifier: MIT
# A service manager that listens: manager.py ADDRESS FILE.  ADDRESS as in
# $NOTIFY_SOCKET; what comes is appended to FILE, a line a field, with the
# milliseconds since the beginning before it.
import socket
import sys
import time

s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
at = sys.argv[1]
s.bind('\0' + at[1:] if at[0] == '@' else at)
begin = time.monotonic()
with open(sys.argv[2], 'w') as f:
    f.write('0 listening\n')
    f.flush()
    while True:
        text = s.recv(65536).decode()
        ms = int((time.monotonic() - begin) * 1000)
        f.write(''.join('%d %s\n' % (ms, l) for l in text.split('\n')))
        f.flush()
