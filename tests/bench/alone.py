"""What the engine alone takes for a series of requests on one connection: what no client that asks for them can be below."""
import http.client, socket, statistics, time, urllib.parse


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("engine", timeout=300)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(300)
        self.sock.connect(self.path)


class Alone:
    """One container's requests; each method sends one and reads its whole answer."""

    def __init__(self, socket_path, container):
        self.connection, self.base = Connection(socket_path), f"/v1.41/containers/{container}"
        self.connection.connect()

    def send(self, method, what, body=None):
        self.connection.request(method, self.base + what, body)
        answer = self.connection.getresponse()
        while answer.read(1 << 20):
            pass
        if answer.status >= 500 or answer.status in (400, 409):
            raise RuntimeError(f"{method} {what}: {answer.status}")

    def archive(self, method, path, body=None):
        self.send(method, "/archive?path=" + urllib.parse.quote(path, safe=""), body)

    def walk(self, path):
        """A header of each component of PATH, as the confinement check asks for them."""
        parts = path.strip("/").split("/")
        for depth in range(1, len(parts) + 1):
            self.archive("HEAD", "/" + "/".join(parts[:depth]))

    def frozen(self, action):
        """Seconds of the pause and of ACTION; the resume comes after the reader has its bytes, and is not counted."""
        start = time.perf_counter()
        self.send("POST", "/pause")
        try:
            action(self)
            return time.perf_counter() - start
        finally:
            self.send("POST", "/unpause")


def alone(socket_path, container, action, repeat=5):
    """The median of REPEAT runs of ACTION(requests) in a pause."""
    requests = Alone(socket_path, container)
    times = []
    for _ in range(repeat):
        times.append(requests.frozen(action))
        time.sleep(0.2)
    return statistics.median(times)
