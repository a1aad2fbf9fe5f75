"""pair.py SOCKET CONTAINER FREEZER SECONDS: whenever the container is paused by somebody, resumes it and pauses it again at
once, which no look at its state can tell from before; keeps that pause for a while and looks whether it holds.
"""
import http.client
import socket
import sys
import time

SOCKET, CONTAINER, FREEZER, SECONDS = sys.argv[1:5]


class Engine(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(SOCKET)


engine = Engine("engine")


def ask(what):
    engine.request("POST", "/v1.41/containers/%s/%s" % (CONTAINER, what))
    answer = engine.getresponse()
    answer.read()
    return answer.status == 204


def frozen():
    with open(FREEZER) as state:
        return state.read().split()[0] not in ("THAWED", "0")


pairs = undone = 0
end = time.monotonic() + float(SECONDS)
while time.monotonic() < end:
    if not frozen() or not ask("unpause"):
        time.sleep(0.002)
        continue
    if not ask("pause"):
        continue
    pairs += 1
    held = time.monotonic() + 0.3
    while time.monotonic() < held:
        if not frozen():
            undone += 1
            break
        time.sleep(0.01)
    else:
        ask("unpause")
    time.sleep(0.05)
print("pairs=%d undone=%d" % (pairs, undone))
