"""liar.py LISTEN UPSTREAM LOG [OLD NEW]…: a unix socket in front of an engine that changes its answers.

Every OLD in an answer becomes the NEW of the same length, so that no framing changes. The first line of each request is
written to LOG. The engine itself is untouched.
"""
import os
import re
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from relay import relay

LISTEN, UPSTREAM, LOG = sys.argv[1:4]
CHANGES = [(old.encode(), new.encode()) for old, new in zip(sys.argv[4::2], sys.argv[5::2])]
REQUEST = re.compile(rb"^(GET|HEAD|PUT|POST|DELETE) [^\r\n]* HTTP/1", re.M)
for old, new in CHANGES:
    assert len(old) == len(new), (old, new)
log = open(LOG, "ab", buffering=0)


class Connection:
    def passes(self, data, outgoing):
        if outgoing:
            for match in REQUEST.finditer(data):
                log.write(match.group(0) + b"\n")
            return data
        for old, new in CHANGES:
            data = data.replace(old, new)
        return data


listener = socket.socket(socket.AF_UNIX)
listener.bind(LISTEN)
relay(listener, UPSTREAM, Connection)
