"""proxy.py LISTEN UPSTREAM STALL [GID]: a unix socket in front of an engine, to make one that stalls.

While the file STALL exists, a connection whose bytes to the engine contain one of its lines is held: nothing goes
either way, and STALL.held gets the request's first line. While the file STALL.cut exists, which holds a number of bytes,
an upload is cut off after so many, and the file's second number, of uploads to cut, counts down. While the file
STALL.lose exists, the answers to requests that contain one of its lines are lost: the connection ends, and STALL.lost
gets a line. While the file STALL.refuse exists, a request that contains one of its lines is answered with 500 by us and
the engine never sees it. STALL.once has two lines: the next request that contains the first is answered with 500 and the second as
its message, and the file is gone. A * in a line stands for a part of a line of the request. The first line of every request is in
STALL.requests. The engine itself is untouched. With GID the socket belongs to that group, mode 0660.
"""
import os
import re
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from relay import relay

LISTEN, UPSTREAM, STALL = sys.argv[1:4]
REQUEST = re.compile(rb"(GET|HEAD|POST|PUT|DELETE) /")


def said(file, seen):
    try:
        with open(file, "rb") as lines:
            return any(re.search(b"[^\r\n]*".join(map(re.escape, line.split(b"*"))), seen)
                       for line in lines.read().split(b"\n") if line)
    except FileNotFoundError:
        return False


def refusal(message):
    body = b'{"message":"%s"}\n' % message
    return b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def once(seen):
    """The message that this request, and no other, is refused with."""
    try:
        with open(STALL + ".once", "rb") as lines:
            pattern, message = lines.read().splitlines()
        if pattern not in seen:
            return None
        os.unlink(STALL + ".once")
        return message
    except FileNotFoundError:
        return None


def cut(start, sent):
    """Whether this upload is to be cut off now; one fewer is left then."""
    if not start.startswith(b"PUT "):
        return False
    try:
        with open(STALL + ".cut", "r+") as file:
            at, left = map(int, file.read().split())
            if not left or sent <= at:
                return False
            file.seek(0)
            file.truncate()
            file.write("%d %d" % (at, left - 1))
            return True
    except FileNotFoundError:
        return False


class Connection:
    def __init__(self):
        self.seen = b""  # the latest request, which is what counts on a connection that is used again
        self.start, self.sent = b"", 0

    def passes(self, data, outgoing):
        if outgoing:
            begins = REQUEST.match(data)
            if begins:
                with open(STALL + ".requests", "ab") as requests:
                    requests.write(data.split(b"\r\n")[0] + b"\n")
            self.seen = data[:8192] if begins else (self.seen + data)[-8192:]
            self.start, self.sent = (data[:5], len(data)) if begins else (self.start, self.sent + len(data))
            if cut(self.start, self.sent):
                return None
            if data and said(STALL + ".refuse", self.seen):
                self.client.sendall(refusal(b"cgroups: freezer not mounted"))
                return None
            message = data and once(self.seen)
            if message:
                self.client.sendall(refusal(message))
                return None
        if data and not outgoing and said(STALL + ".lose", self.seen):
            with open(STALL + ".lost", "a") as lost:
                lost.write("%s\n" % self.seen.split(b"\r\n")[0].decode())
            return None
        if data and outgoing and said(STALL, self.seen):
            with open(STALL + ".held", "a") as held:
                held.write("%s\n" % self.seen.split(b"\r\n")[0].decode())
        while data and said(STALL, self.seen):
            time.sleep(0.1)
        return data


listener = socket.socket(socket.AF_UNIX)
listener.bind(LISTEN)
if len(sys.argv) > 4:
    os.chown(LISTEN, -1, int(sys.argv[4]))
    os.chmod(LISTEN, 0o660)
relay(listener, UPSTREAM, Connection)
