# SPDX-License-Identifier: MIT
# A reader of the metrics: client.py SOCKET HOW
#
#	http		GET /metrics; the body
#	get PATH	the status line of that answer
#	plain		say nothing; all that comes
#	shut		close our side at once; all that comes
#	word TEXT	say TEXT; all that comes
#	endless		a request that never ends; how it ended
#	drip		a byte of one now and then; how it ended
#	crowd N		N connections that say "GET " and stay; wait to be killed
#	deaf N		N that ask and never read; wait to be killed
#	flood SECONDS	connect and go, as often as possible; how often
import socket
import sys
import time


def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.settimeout(20)
    return s


def rest(s):
    out = b''
    while True:
        try:
            b = s.recv(65536)
        except ConnectionResetError:
            b = b''
        if not b:
            return out.decode()
        out += b


# Returns the answer to a GET of that path.  A client that sends nothing within
# a moment gets the text without a header.  If this process did not run for so
# long, it asks again.
MOMENT = 0.1


def get(path):
    while True:
        begin = time.monotonic()
        s = connect()
        try:
            s.sendall(b'GET ' + path.encode() + b' HTTP/1.1\r\nHost: x\r\n'
                      b'\r\n')
        except BrokenPipeError:
            pass
        late = time.monotonic() - begin >= MOMENT
        text = rest(s)
        if text.startswith('HTTP/') or not late:
            return text


how = sys.argv[2]
arg = sys.argv[3] if len(sys.argv) > 3 else ''
if how == 'crowd' or how == 'deaf':
    crowd = []
    for i in range(int(arg)):
        s = connect()
        if how == 'deaf':
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        try:
            s.sendall(b'GET ' if how == 'crowd' else
                      b'GET / HTTP/1.0\r\n\r\n')
        except (BrokenPipeError, ConnectionResetError):
            pass    # hung up on already
        crowd.append(s)
    print('there', flush=True)
    time.sleep(60)
elif how == 'flood':
    end = time.monotonic() + float(arg)
    n = 0
    while time.monotonic() < end:
        s = connect()
        s.close()
        n += 1
    print(n)
elif how == 'endless' or how == 'drip':
    s = connect()
    begin = time.monotonic()
    end = 'still there'
    try:
        s.sendall(b'GET / HTTP/1.0\r\n')
        while time.monotonic() - begin < 15:
            s.sendall(b'X' * 1000 if how == 'endless' else b'X')
            time.sleep(0 if how == 'endless' else 0.2)
    except (BrokenPipeError, ConnectionResetError):
        end = 'hung up on'
    print(end)
elif how == 'http':
    sys.stdout.write(get('/metrics').split('\r\n\r\n', 1)[1])
elif how == 'get':
    print(get(arg).split('\r\n')[0])
else:
    s = connect()
    try:
        if how == 'word':
            s.sendall(arg.encode())
        elif how == 'shut':
            s.shutdown(socket.SHUT_WR)
    except BrokenPipeError:
        pass        # it was taken for one who says nothing
    sys.stdout.write(rest(s))
