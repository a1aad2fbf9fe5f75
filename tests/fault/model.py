"""What the scripted engine holds: a small file tree and the containers that share it, the guest's commands, events."""
import decimal, hashlib, io, json, os, socket, tarfile, threading, time

ID = "ab" * 32
MTIME = 1700000000
GO_DIR, GO_LINK, GO_FIFO = 1 << 31, 1 << 27, 1 << 25


class Node:
    def __init__(self, kind="file", content=b"", mode=0o644, target=""):
        self.kind, self.content, self.mode, self.target = kind, content, mode, target
        self.mtime, self.nanos, self.size, self.uid = MTIME, 123456789, None, 1000

    def stat(self, name):
        go = {"dir": GO_DIR, "link": GO_LINK, "fifo": GO_FIFO}.get(self.kind, 0)
        size = self.size if self.size is not None else 4096 if self.kind == "dir" else len(self.content)
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.mtime)) + ".%09dZ" % self.nanos
        return {"name": name, "size": size, "mode": go | self.mode, "mtime": when, "linkTarget": self.target}


    def told(self):
        """For whoever compares: what it is, with a digest of its bytes."""
        return {"kind": self.kind, "mode": self.mode, "size": len(self.content), "mtime": self.mtime, "ns": self.nanos, "uid": self.uid,
                "sha256": hashlib.sha256(self.content).hexdigest(), "target": self.target}


def tree(greeting=b"hello, sandbox\n"):
    made = {p: Node("dir", mode=0o755) for p in ("/", "/etc", "/work", "/work/out", "/work/in", "/work/out/d")}
    made["/etc/passwd"] = Node(content=b"root:x:0:0::/root:/bin/sh\nguest:x:1000:1000::/work:/bin/sh\n")
    made["/etc/group"] = Node(content=b"root:x:0:\nguest:x:1000:\n")
    made["/work/out/f"] = Node(content=greeting)
    made["/work/out/d/g"] = Node(content=b"deep\n")
    made["/work/out/big"] = Node(content=bytes(range(256)) * 4096)
    made["/work/out/l"] = Node("link", mode=0o777, target="/etc/passwd")
    return made


class Engine:
    def __init__(self, rules):
        self.rules, self.lock = rules, threading.Lock()
        self.tree, self.paused, self.names = tree(), set(), {ID: "box"}
        self.armed, self.replaced = True, None
        self.streams, self.log, self.events = [], [], b""
        self.lacks, self.denies, self.cuts, self.lies, self.misplaces, self.execs = set(), False, False, False, False, {}
        self.volumes, self.image, self.outputs = [], set(), ["out/"]

    def inspect(self, id_):
        paused = id_ in self.paused
        state = "paused" if paused else "running"
        return {"Id": id_, "Name": "/" + self.names[id_], "Image": "sha256:" + "cd" * 32, "Created": "2026-01-01T00:00:00.5Z",
                "State": {"Status": state, "Running": True, "Paused": paused, "Pid": 0, "ExitCode": 0},
                "Config": {"User": "1000:1000", "WorkingDir": "/work", "Image": "test", "Labels": self.labels(), "Env": None},
                "HostConfig": {"NetworkMode": "none"},
                "Mounts": [{"Type": "volume", "Source": "/v", "Destination": path, "RW": True} for path in self.volumes]}

    def labels(self):
        return {"sbxfs.version": "1", "sbxfs.workdir": "/work", "sbxfs.outputs": json.dumps(self.outputs), "sbxfs.in": "in"}

    def row(self, id_):
        return {"Id": id_, "Names": ["/" + self.names[id_]], "Image": "test", "State": "paused" if id_ in self.paused else "running",
                "Created": MTIME, "Labels": self.labels()}

    def event(self, action, id_):
        line = json.dumps({"Type": "container", "Action": action, "time": int(time.time()), "timeNano": time.time_ns(),
                           "Actor": {"ID": id_, "Attributes": {"name": self.names.get(id_, "")}}}).encode() + b"\n"
        self.events += line
        self.emit(line)

    def emit(self, data):
        for stream in list(self.streams):
            try:
                stream.sendall(b"%x\r\n%s\r\n" % (len(data), data))
            except OSError:
                self.streams.remove(stream)

    def create(self, name):
        made = "%064x" % (len(self.names) + 1000)
        self.names[made] = name
        self.event("create", made)

    def destroy(self, name):
        gone = next(id_ for id_, known in self.names.items() if known == name)
        self.event("destroy", gone)
        del self.names[gone]
        self.paused.discard(gone)

    def end_streams(self):
        for stream in self.streams:
            stream.shutdown(socket.SHUT_RDWR)
        self.streams.clear()

    def replace(self):
        """Restarted with other containers: streams end, and what had this name is gone for another of the same name, whose file has
        the same size and time and other bytes."""
        self.names = {"cd" * 32: "box"}
        self.tree, self.paused = tree(b"HELLO, SANDBOX\n"), set()
        self.replaced = self.told_tree()
        self.end_streams()

    def told_tree(self):
        return {path: node.told() for path, node in self.tree.items()}

    def told(self):
        return {"tree": self.told_tree(), "replaced": self.replaced, "names": sorted(self.names.values()), "paused": bool(self.paused),
                "rules": [rule.told() for rule in self.rules]}

    def of_image(self, path):
        """Whether it, or something below it, came with the image."""
        return any(one == path or one.startswith(path.rstrip("/") + "/") for one in self.image)

    def archive(self, path, only_image=False):
        out, node, base = io.BytesIO(), self.tree[path], os.path.basename(path) or "/"
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name in sorted(self.tree):
                if name != path and not name.startswith(path.rstrip("/") + "/") or only_image and not self.of_image(name):
                    continue
                entry = self.tree[name]
                info = tarfile.TarInfo(base + name[len(path):])
                info.mode, info.mtime, info.uid, info.gid = entry.mode, entry.mtime, 1000, 1000
                info.type = {"dir": tarfile.DIRTYPE, "link": tarfile.SYMTYPE, "fifo": tarfile.FIFOTYPE}.get(entry.kind, tarfile.REGTYPE)
                info.linkname = entry.target
                info.size = len(entry.content) if entry.kind == "file" else 0
                tar.addfile(info, io.BytesIO(entry.content) if entry.kind == "file" else None)
                if node.kind != "dir":
                    break
        return trim(out.getvalue())

    def command(self, argv):
        """What a guest's command does: its exit code and what it says. None: the image has no such command."""
        if argv[0] in self.lacks:
            return None, f'OCI runtime exec failed: exec failed: "{argv[0]}": executable file not found in $PATH: unknown\r\n'
        if argv[0] not in ("chmod", "touch", "rm", "rmdir", "mv"):
            return 0, "1000\n"
        if self.lies:
            return 0, ""
        node = self.tree.get(argv[-2 if argv[0] == "mv" else -1])
        if self.denies:
            return 1, f"{argv[0]}: {argv[-1]}: Operation not permitted\n"
        if not node:
            return (0, "") if "-c" in argv else (1, f"{argv[0]}: {argv[-1]}: No such file or directory\n")
        if argv[0] == "chmod":
            node.mode = int(argv[-2], 8)
        elif argv[0] == "rmdir" and any(path.startswith(argv[-1] + "/") for path in self.tree):
            return 1, f"rmdir: {argv[-1]}: Directory not empty\n"
        elif argv[0] in ("rm", "rmdir"):
            del self.tree[argv[-1]]
        elif argv[0] == "mv":
            self.tree[argv[-1] + ("/elsewhere" if self.misplaces else "")] = self.tree.pop(argv[-2])
        else:
            date = argv[argv.index("-d") + 1] if "-d" in argv else "@%d.%09d" % divmod(time.time_ns(), 10**9)
            seconds, _, fraction = date[1:].partition(".")
            if fraction and self.cuts and "-d" in argv:
                return 1, f"touch: invalid date '{date}'\n"
            node.mtime, node.nanos = int(seconds), int(fraction or 0)
        return 0, ""

    def extract(self, base, body):
        with tarfile.open(fileobj=io.BytesIO(body), mode="r:") as tar:
            for entry in tar:
                path = os.path.normpath(os.path.join(base, entry.name))
                node = Node("dir" if entry.isdir() else "file", tar.extractfile(entry).read() if entry.isfile() else b"", entry.mode)
                seconds, part = divmod(decimal.Decimal(entry.pax_headers.get("mtime", int(entry.mtime))), 1)
                node.mtime, node.nanos, node.uid = int(seconds), int(part * 10**9), entry.uid
                self.tree[path] = node


def trim(tar):
    """Engines end a tar with two zero blocks, Python pads to 10 kB."""
    end = len(tar)
    while end >= 512 and not any(tar[end - 512:end]):
        end -= 512
    return tar[:end] + bytes(1024)
