"""The faults of scenario.py: each a tuple of its name and what the engine needs to do it, and the broken tars, bodies, stat headers and
events that they send."""
import base64, fnmatch, io, json, tarfile


def tar_field(tar, at, value):
    """Changes a header field and mends the checksum."""
    data = bytearray(tar)
    data[at:at + len(value)] = value
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    return bytes(data)


def tar_of(*entries, pax=None, form=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form, pax_headers={}) as tar:
        for name, content, kind in entries:
            info = tarfile.TarInfo(name)
            info.type, info.size, info.mtime, info.mode = kind, len(content), 1700000000, 0o644
            info.linkname = "/etc/passwd" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            if pax:
                info.pax_headers = pax
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


HELLO = b"hello, sandbox\n"
TARS = {
    "not-a-tar": lambda tar: b"this is not a tar, it only looks at you " * 40,
    "empty": lambda tar: bytes(1024),
    "nothing": lambda tar: b"",
    "no-end": lambda tar: tar[:-1024],
    "half-end": lambda tar: tar[:-512],
    "short-body": lambda tar: tar[:512 + 5],
    "bad-checksum": lambda tar: b"x" + tar[1:],
    "other-name": lambda tar: tar_field(tar, 0, b"other\0"),
    "other-size": lambda tar: tar_of(("f", b"longer than it was said to be\n", tarfile.REGTYPE)),
    "is-a-link": lambda tar: tar_of(("f", b"", tarfile.SYMTYPE)),
    "is-a-hard-link": lambda tar: tar_of(("f", b"", tarfile.LNKTYPE)),
    "is-a-directory": lambda tar: tar_of(("f", b"", tarfile.DIRTYPE)),
    "two-entries": lambda tar: tar_of(("f", HELLO, tarfile.REGTYPE), ("g", b"x", tarfile.REGTYPE)),
    "negative-size": lambda tar: tar_field(tar, 124, b"\xff" * 12),
    "octal-overflow": lambda tar: tar_field(tar, 124, b"777777777777"),
    "base256-huge": lambda tar: tar_field(tar, 124, b"\x80\x7f" + b"\xff" * 10),
    "size-not-a-number": lambda tar: tar_field(tar, 124, b"12x4567890\0 "),
    "gnu-sparse": lambda tar: tar_field(tar, 156, b"S"),
    "pax-sparse": lambda tar: tar_of(("f", HELLO, tarfile.REGTYPE), pax={"GNU.sparse.major": "1", "GNU.sparse.name": "f"}),
    "pax-path": lambda tar: tar_of(("f", HELLO, tarfile.REGTYPE), pax={"path": "elsewhere"}),
    "pax-size-lies": lambda tar: tar_of(("f", HELLO, tarfile.REGTYPE), pax={"size": "999999"}),
    "pax-size-negative": lambda tar: tar_of(("f", HELLO, tarfile.REGTYPE), pax={"size": "-1"}),
    "pax-flood": lambda tar: tar_of(("f", HELLO, tarfile.REGTYPE), pax={"comment": "x" * 200000}),
    "gnu-long-name": lambda tar: tar_of(("d/" * 80 + "f", HELLO, tarfile.REGTYPE), form=tarfile.GNU_FORMAT),
    "pax-endless": lambda tar: tar_field(tar_field(tar, 156, b"x"), 124, b"77777777777\0") + b"30 comment=xxxxxxxxxxxxxxxxxxx\n" * 40000,
    "extension-chain": lambda tar: tar_of(("f", HELLO, tarfile.REGTYPE), pax={"comment": "x"})[:1024] * 100 + tar,
    "outside": lambda tar: tar_of(("out", b"", tarfile.DIRTYPE), ("outer/f", HELLO, tarfile.REGTYPE)),
    "top-below": lambda tar: tar_of(("a/out", b"", tarfile.DIRTYPE), ("a/out/f", HELLO, tarfile.REGTYPE)),
    "same-again": lambda tar: tar,
}
HTML = b"<html><body><h1>500 Internal Server Error</h1>" + b"x" * 3000 + b"</body></html>"
BODIES = {
    "html": HTML,
    "nested": b"[" * 10000 + b"]" * 10000,
    "not-json": b"{\"Id\": ",
    "null": b"null\n",
    "wrong-types": b'{"Id":7,"Name":[],"State":"running","Config":null,"HostConfig":3,"Mounts":{}}',
    "string": b'"hello"',
    "numbers": b'{"Id":"' + b"ab" * 32 + b'","Name":"/box","State":{"Status":"running","Running":true,"Pid":1e999,"ExitCode":-1e300},'
               b'"Config":{"User":"1000:1000","WorkingDir":"/work","Labels":{"sbxfs.version":"1"}},"HostConfig":{},"Created":"99999-99-99"}',
    "duplicate-keys": b'{"Id":"' + b"ab" * 32 + b'","Id":"../../etc","Name":"/box","Name":"/x","State":{"Status":"running","Status":"exited"},'
                      b'"Config":{"Labels":{"sbxfs.version":"1","sbxfs.version":"2"}},"HostConfig":{}}',
    "nul": b'{"Id":"a\0b"}',
    "error-in-200": b'{"message":"something went wrong"}',
    "list-not-array": b'{"a":1}',
    "list-of-rubbish": b'[1,"x",null,{},{"Id":5},[]]',
}


def with_member(value):
    """The good answer with one more member, of it or of its first row."""
    def edit(body):
        whole = json.loads(body)
        (whole[0] if isinstance(whole, list) else whole)["Extra"] = "@extra@"
        return json.dumps(whole).encode().replace(b'"@extra@"', value) + b"\n"
    return edit


def recoded(change):
    def edit(header):
        stat = json.loads(base64.b64decode(header))
        stat.update(change)
        return base64.b64encode(json.dumps(stat).encode()).decode()
    return edit


STATS = {
    "not-base64": lambda h: "!!! not base64 !!!",
    "not-json": lambda h: "bm90IGpzb24=",
    "missing": lambda h: "",
    "url-safe": lambda h: h.replace("+", "-").replace("/", "_"),
    "unpadded": lambda h: h.rstrip("="),
    "size-negative": recoded({"size": -5}),
    "size-huge": recoded({"size": 1e300}),
    "size-text": recoded({"size": "12"}),
    "size-other": recoded({"size": 999}),
    "mode-text": recoded({"mode": "rwx"}),
    "mode-huge": recoded({"mode": 1 << 60}),
    "mtime-other": recoded({"mtime": "2023-11-14T22:13:20.5Z"}),
    "mtime-rubbish": recoded({"mtime": "yesterday"}),
    "array": lambda h: "W10=",
    "deep": lambda h: base64.b64encode(b"[" * 5000 + b"]" * 5000).decode(),
}
EVENTS = {
    "cut": b'{"Type":"container","Action":"crea',
    "merged": b'{"Type":"container","Action":"create","Actor":{"ID":"' + b"cd" * 32 + b'"}}{"Type":"container","Action":"die"}\n',
    "unknown": b'{"Type":"plugin","Action":"enable","Actor":{"ID":"x"}}\n{"Type":"container","Action":"dance: wild","Actor":{"ID":"'
               + b"ab" * 32 + b'"}}\n',
    "rubbish": b"\n\n\x00\xff\n[]\n3\n",
    "long": b'{"Type":"container","Action":"' + b"x" * (3 << 20) + b'"}\n',
    "out-of-order": b'{"Type":"container","Action":"destroy","Actor":{"ID":"' + b"cd" * 32 + b'"}}\n'
                    b'{"Type":"container","Action":"create","Actor":{"ID":"' + b"cd" * 32 + b'"}}\n',
}


def denied(count):
    """Denies a pause in the first answers that would tell of it, as Docker does for a moment."""
    left = [count]

    def edit(body):
        if b'"Paused": true' not in body or not left[0]:
            return body
        left[0] -= 1
        return body.replace(b'"Paused": true', b'"Paused": false').replace(b'"Status": "paused"', b'"Status": "running"')
    return edit


class Rule:
    """Which requests, how often, and what becomes of them; and what came of it."""

    def __init__(self, match, times=1, after=None, fault=("none",)):
        self.match, self.times, self.after, self.fault = match, times, after, fault
        self.used, self.changed, self.length = 0, 0, 0

    def applies(self, asked, plain, before):
        if not fnmatch.fnmatchcase(plain, self.match) and not fnmatch.fnmatchcase(asked, self.match):
            return False
        return not (self.after and not fnmatch.filter(before, self.after)) and not (self.times and self.used >= self.times)

    def told(self):
        return {"used": self.used, "changed": self.changed, "length": self.length}


def fault_of(words, parameters):
    words = [parameters.get(w[1:], w) if w.startswith("$") else w for w in words]
    name, rest = words[0], words[1:]
    if name in ("resumed", "unlock", "refuse", "reset", "lose", "stall-request", "chunked", "early", "replace", "restart", "rewrite", "die",
                "endless-headers", "none"):
        return (name,)
    if name in ("cut", "cut-chunked", "stall", "part"):
        return (name, int(rest[0]))
    if name == "needs":  # paused, running: else it is refused
        return (name, rest[0])
    if name in ("slow", "end"):
        return (name, float(rest[0]))
    if name == "pace":  # MB/s and MiB: what the file is said to have elsewhere
        size = int(rest[1]) << 20
        return ("pace", float(rest[0]) * 1e6, size, lambda entry: tar_field(entry, 124, b"%011o\0" % size))
    if name in ("status", "done-status"):  # done-status: what was asked for is done all the same
        kind = rest[1]
        body = {"json": b'{"message":"' + " ".join(rest[2:]).encode() + b'"}\n', "html": HTML, "empty": b"",
                "huge": b'{"message":"' + b"y" * (8 << 20) + b'"}', "text": " ".join(rest[2:]).encode()}[kind]
        return (name, int(rest[0]), body, {"json": "application/json", "huge": "application/json"}.get(kind, "text/html"))
    if name == "tar":
        return ("body", TARS[rest[0]])
    if name == "body":
        if rest[0] in ("big", "deep"):  # MiB, or levels, of a member that nobody asked for
            size = int(rest[1])
            return ("body", with_member(b'"' + b"a" * (size << 20) + b'"' if rest[0] == "big" else b"[" * size + b"]" * size))
        return ("body", BODIES[rest[0]])
    if name == "stat":
        return ("stat", STATS[rest[0]])
    if name in ("endless", "excess"):
        return (name, bytes(65536))
    if name == "endless-entries":
        return ("endless", tar_of(("f", HELLO, tarfile.REGTYPE))[:1024] * 60)
    if name == "denied":
        return ("body", denied(int(rest[0])))
    if name == "state":
        return ("body", lambda body: body.replace(b'"Status": "running"', b'"Status": "%s"' % rest[0].encode()))
    if name == "events":
        return ("events", EVENTS[rest[0]])
    if name == "header":
        if rest[0] == "huge":
            return ("header", {"X-Huge": "h" * 200000})
        if rest[0] == "many":
            return ("header", {f"X-{i}": "v" * 90 for i in range(2000)})
        return ("header", {rest[0]: rest[1]})
    if name == "raw":
        return ("raw", {"not-http": b"SSH-2.0-OpenSSH_9.2\r\n", "half-status": b"HTTP/1.1 20", "nothing": b"",
                        "bad-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nrubbish\r\n",
                        "negative-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
                        "two-lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\n{}abc"}[rest[0]])
    raise SystemExit(f"unknown fault {name}")
