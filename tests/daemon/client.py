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


how = sys.argv[2]
arg = sys.argv[3] if len(sys.argv) > 3 else ''
if how == 'crowd' or how == 'deaf':
    crowd = []
    for i in range(int(arg)):
        s = connect()
        if how == 'deaf':
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        s.sendall(b'GET ' if how == 'crowd' else b'GET / HTTP/1.0\r\n\r\n')
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
else:
    s = connect()
    if how == 'http' or how == 'get':
        path = arg or '/metrics'
        s.sendall(b'GET ' + path.encode() + b' HTTP/1.1\r\nHost: x\r\n\r\n')
    elif how == 'word':
        s.sendall(arg.encode())
    elif how == 'shut':
        s.shutdown(socket.SHUT_WR)
    text = rest(s)
    if how == 'get':
        text = text.split('\r\n')[0] + '\n'
    elif how == 'http':
        text = text.split('\r\n\r\n', 1)[1]
    sys.stdout.write(text)
