#!/usr/bin/env python3
"""A scripted container engine on a unix socket: well-behaved but for what a scenario says.

It answers as Docker 20.10 does, from a small file tree in memory, and writes every byte of its answers itself: an HTTP
library would refuse to send the broken ones that this is for. A scenario names requests (METHOD and a glob on the target)
and what becomes of their answers. Run as: engine.py SOCKET SCENARIO
"""
import base64, email.utils, fnmatch, glob, json, os, re, socket, struct, sys, threading, time, urllib.parse

from model import ID, Engine, Node

EDITS = ("body", "stat", "header", "cut", "cut-chunked")  # these may leave an answer as it was, and count when they did not

NOT_NOW = ("status", 500, b'{"message":"this is not the state for it"}\n', "application/json")


def remove_lock_files():
    """Of this engine's windows: what a cleaner of the directory does."""
    for directory in ("/run/sbxfs", os.path.join(os.path.dirname(sys.argv[1]), "runtime/sbxfs")):
        for path in glob.glob(os.path.join(directory, "*-" + ID)):
            with open(path, "rb") as file:
                ours = f"\nendpoint unix://{sys.argv[1]}\n".encode() in file.read()
            if ours:
                os.unlink(path)


class Connection(threading.Thread):
    def __init__(self, engine, sock):
        super().__init__(daemon=True)
        self.engine, self.sock, self.file = engine, sock, sock.makefile("rb")

    def run(self):
        try:
            while self.one():
                pass
        except (OSError, ValueError):
            pass
        finally:
            try:
                self.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            self.sock.close()

    def one(self):
        line = self.file.readline(1 << 20)
        if not line:
            return False
        method, target, _ = line.decode("latin-1").split(" ", 2)
        headers = {}
        while (raw := self.file.readline(1 << 20).strip()):
            key, _, value = raw.decode("latin-1").partition(":")
            headers[key.lower()] = value.strip()
        if target.startswith("/-/"):
            return self.control(target)
        rule = self.rule(method, target)
        fault = rule.fault if rule else ("none",)
        if rule and fault[0] not in EDITS:
            rule.changed += 1
        if fault[0] == "die":  # the engine ends while it serves, and nobody is there afterwards
            os._exit(0)
        if fault[0] == "refuse":
            return False
        if fault[0] == "reset":
            return self.reset()
        if fault[0] == "stall-request":
            time.sleep(3600)
        if fault[0] == "early":  # answers before the body is read, as Docker 28 does when a disk is full
            text = b'{"message":"write /x: no space left on device"}'
            self.send(b"HTTP/1.1 500 X\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(text), text))
            return False
        if fault[0] == "part":  # the connection breaks within an upload: half a file is left, as engines leave it
            part = self.file.read(fault[1])
            with self.engine.lock:
                self.engine.tree["/work/in/new"] = Node(content=part[512:])
            return self.reset()
        if fault[0] == "unlock":
            remove_lock_files()
        if fault[0] == "resumed":  # by somebody else, while this answer is on its way
            with self.engine.lock:
                self.engine.paused.clear()
                self.engine.event("unpause", next(iter(self.engine.names)))
        if fault[0] in ("replace", "restart"):
            with self.engine.lock:
                self.engine.replace()
            if fault[0] == "restart":
                return self.reset()
        body = self.file.read(int(headers.get("content-length", 0)))
        if fault[0] == "needs" and bool(self.engine.paused) != (fault[1] == "paused"):
            fault = NOT_NOW
        if fault[0] == "status":  # refused: nothing is done
            status, extra, payload = 200, {}, b""
        else:
            with self.engine.lock:
                status, extra, payload = self.answer(method, target, body)
                if fault[0] == "rewrite":
                    self.rewrite(target)
        if fault[0] == "lose":
            return self.reset()
        if status == "stream":
            return self.stream(fault)
        return self.reply(method, status, extra, payload, fault, rule)

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def rewrite(self, target):
        """The guest writes the file anew once its bytes are under way."""
        node = self.engine.tree[urllib.parse.parse_qs(urllib.parse.urlsplit(target).query)["path"][0]]
        node.content, node.mtime = node.content[::-1], node.mtime + 1

    def rule(self, method, target):
        asked = method + " " + urllib.parse.unquote(target)
        plain = re.sub(r"^(\w+) /v[0-9.]+", r"\1 ", asked)
        self.engine.log.append(plain)
        for rule in self.engine.rules if self.engine.armed else ():
            if rule.applies(asked, plain, self.engine.log[:-1]):
                rule.used += 1
                return rule
        return None

    def control(self, target):
        """Not an engine's: what run.py asks of this one."""
        engine, parts = self.engine, urllib.parse.urlsplit(target)
        word, query = parts.path[3:], {k: v[0] for k, v in urllib.parse.parse_qs(parts.query).items()}
        answer = b""
        with engine.lock:
            if word == "state":
                answer = json.dumps(engine.told()).encode()
            elif word == "content":
                answer = engine.tree[query["path"]].content
            elif word == "swap":  # the guest puts a link where a directory was
                engine.tree[query["path"]] = Node("link", mode=0o777, target="/etc")
            elif word == "arm":
                engine.armed = query["on"] == "1"
            elif word == "end-streams":
                engine.end_streams()
            elif word == "replace":
                engine.replace()
            elif word == "create":
                engine.create(query["name"])
            elif word == "destroy":
                engine.destroy(query["name"])
            else:
                raise ValueError(word)
        self.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(answer), answer))
        return True

    def send(self, data):
        self.sock.sendall(data)

    def stream(self, fault):
        if fault[0] == "raw":
            self.send(fault[1])
            return False
        self.send(b"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        self.engine.streams.append(self.sock)
        if fault[0] == "events":
            self.engine.emit(fault[1])
        if fault[0] == "end":
            time.sleep(fault[1])
            return False
        while self.sock.recv(1):
            pass
        return False

    def reply(self, method, status, extra, payload, fault, rule):
        chunked = len(payload) > 4096 and "Content-Length" not in extra
        good = payload, dict(extra)
        if fault[0] in ("status", "done-status"):
            status, payload, extra = fault[1], fault[2], {"Content-Type": fault[3]}
            chunked = False
        elif fault[0] == "body":
            payload = fault[1] if not callable(fault[1]) else fault[1](payload)
        elif fault[0] == "stat":
            extra = dict(extra, **{"X-Docker-Container-Path-Stat": fault[1](extra.get("X-Docker-Container-Path-Stat", ""))})
        elif fault[0] in ("chunked", "endless", "cut-chunked"):
            chunked = True
        elif fault[0] == "header":
            extra = dict(extra, **fault[1])
        if fault[0] in ("body", "stat", "header"):
            rule.changed += good != (payload, extra)
        extra = {"Api-Version": "1.41", "Server": "Scripted/1", "Date": email.utils.formatdate(usegmt=True), **extra}
        head = [f"HTTP/1.1 {status} X"]
        head += [f"{k}: {v}" for k, v in extra.items()]
        if fault[0] == "pace" and method == "GET":
            return self.pace(head, *fault[1:], payload[:512])
        if method == "HEAD" or status in (204, 304):
            data = b""
        elif chunked:
            head.append("Transfer-Encoding: chunked")
            size = 700 if len(payload) < 100000 else 32768
            parts = [payload[i:i + size] for i in range(0, len(payload), size)]
            data = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
            data += b"" if fault[0] == "endless" else b"0\r\n\r\n"
        else:
            if not any(h.lower().startswith("content-length") for h in head):
                head.append(f"Content-Length: {len(payload)}")
            data = payload
        whole = ("\r\n".join(head) + "\r\n\r\n").encode("latin-1") + data
        if fault[0] == "raw":
            self.send(fault[1])
            return False
        if fault[0] in ("cut", "cut-chunked"):
            rule.length = len(whole)
            rule.changed += fault[1] < len(whole)
            self.send(whole[:fault[1]])
            return False
        if fault[0] == "endless-headers":
            self.send(b"HTTP/1.1 200 OK\r\n")
            while True:
                self.send(b"X-A: %s\r\n" % (b"b" * 4000))
        if fault[0] == "stall":
            self.send(whole[:fault[1]])
            time.sleep(3600)
        if fault[0] == "slow":
            for byte in whole:
                self.send(bytes([byte]))
                time.sleep(fault[1])
            return False
        if fault[0] == "excess":
            self.send(whole + fault[1])
            return True
        if fault[0] == "endless":
            self.send(whole)
            while True:
                self.send(b"%x\r\n%s\r\n" % (len(fault[1]), fault[1]))
        self.send(whole)
        return True

    def pace(self, head, rate, size, edit, entry):
        """The archive of a large file at `rate` bytes a second, in Docker's chunks."""
        frame = b"8000\r\n%s\r\n" % bytes(32768)
        self.send("\r\n".join(head + ["Transfer-Encoding: chunked", "", "200", ""]).encode("latin-1") + edit(entry) + b"\r\n")
        start = time.perf_counter()
        for sent in range(0, size, 32768):
            early = start + sent / rate - time.perf_counter()
            if early > 0:
                time.sleep(early)
            self.send(frame)
        self.send(b"400\r\n%s\r\n0\r\n\r\n" % bytes(1024))
        return True

    def error(self, status, message):
        return status, {"Content-Type": "application/json"}, json.dumps({"message": message}).encode() + b"\n"

    def ok(self, value=None, status=200):
        if value is None:
            return status, {}, b""
        return status, {"Content-Type": "application/json"}, json.dumps(value).encode() + b"\n"

    def answer(self, method, target, body):
        engine, parts = self.engine, urllib.parse.urlsplit(target)
        path, query = re.sub(r"^/v[0-9.]+", "", parts.path), urllib.parse.parse_qs(parts.query, keep_blank_values=True)
        words = [urllib.parse.unquote(w) for w in path.split("/") if w]
        if path == "/_ping":
            return 200, {"Ostype": "linux"}, b"OK"
        if path == "/version":
            return self.ok({"Version": "20.10.24", "ApiVersion": "1.41", "MinAPIVersion": "1.12", "Os": "linux", "Arch": "amd64"})
        if path == "/info":
            return self.ok({"OSType": "linux", "Driver": "overlay2", "CgroupVersion": "1", "SecurityOptions": []})
        if path == "/events" and "until" in query:
            return 200, {"Content-Type": "application/json"}, engine.events
        if path == "/events":
            return "stream", {}, b""
        if path == "/containers/json":
            return self.ok([engine.row(i) for i in engine.names])
        if path == "/containers/create":  # to see what the image holds
            made = "%064x" % (len(engine.names) + 5000)
            engine.names[made] = query["name"][0]
            return self.ok({"Id": made, "Warnings": []}, 201)
        if words[:1] == ["containers"] and len(words) >= 2:
            id_ = next((i for i, n in engine.names.items() if words[1] in (i, n)), None)
            if not id_:
                return self.error(404, "No such container: " + words[1])
            return self.container(method, id_, words[2:], query, body)
        if words[:1] == ["exec"]:
            run = engine.execs[words[1]]
            if words[-1] == "start":
                run["code"], text = engine.command(run["argv"])
                stream = 2 if run["code"] else 1
                return 200, {"Content-Type": "application/vnd.docker.raw-stream"}, struct.pack(">B3xI", stream, len(text)) + text.encode()
            return self.ok({"ExitCode": 126, "Running": False, "Pid": 0} if run.get("code", 0) is None else
                           {"ExitCode": run.get("code"), "Running": False, "Pid": 7})
        if words[:1] == ["images"]:
            return self.ok({"Id": "sha256:" + "cd" * 32, "Config": {"User": "1000:1000", "WorkingDir": "/work"}, "RepoDigests": []})
        return self.error(404, "page not found")

    def container(self, method, id_, words, query, body):
        engine = self.engine
        if words == ["json"]:
            return self.ok(engine.inspect(id_))
        if words == ["pause"]:
            if id_ in engine.paused:
                return self.error(409, f"Container {id_} is already paused")
            engine.paused.add(id_)
            engine.event("pause", id_)
            return self.ok(status=204)
        if words == ["unpause"]:
            if id_ not in engine.paused:
                return self.error(500, f"Container {id_} is not paused")
            engine.paused.discard(id_)
            engine.event("unpause", id_)
            return self.ok(status=204)
        if words == ["changes"]:
            return self.ok([{"Path": p, "Kind": 0 if engine.of_image(p) else 1} for p in engine.tree if p.startswith("/work/") and p not in engine.image])
        if words == ["exec"]:
            made = "%064x" % (len(engine.execs) + 1)
            engine.execs[made] = {"argv": json.loads(body)["Cmd"]}
            return self.ok({"Id": made}, 201)
        if not words and method == "DELETE":
            engine.destroy(engine.names[id_])
            return self.ok(status=204)
        if words == ["archive"]:
            path = os.path.normpath(query.get("path", ["/"])[0])
            probe = engine.names[id_].startswith("sbxfs-probe-")
            node = None if probe and not engine.of_image(path) else engine.tree.get(path)
            if not node:
                return self.error(404, f"Could not find the file {path} in container {id_}")
            if method == "PUT":
                engine.extract(path, body)
                return self.ok()
            stat = base64.b64encode(json.dumps(node.stat(os.path.basename(path) or "/")).encode()).decode()
            return 200, {"X-Docker-Container-Path-Stat": stat, "Content-Type": "application/x-tar"}, \
                engine.archive(path, probe) if method == "GET" else b""
        return self.error(404, "page not found")


def main():
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import scenario
    chosen = scenario.load(sys.argv[2])
    engine = Engine(chosen.rules(dict(a.split("=", 1) for a in sys.argv[3:])))
    chosen.prepare(engine)
    server = socket.socket(socket.AF_UNIX)
    server.bind(sys.argv[1])
    server.listen(64)
    print("ready", flush=True)
    while True:
        sock, _ = server.accept()
        Connection(engine, sock).start()


if __name__ == "__main__":
    main()
