#!/usr/bin/env python3
"""seeds.py DIRECTORY: a start corpus for each target in DIRECTORY/TARGET: one valid input of every shape, and the broken ones
of tests/fault, so that a short run begins where a guest would."""
import os, struct, sys, tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fault"))
import base64, json
import engine as scripted
import scenario

TOP = sys.argv[1]
counts = {}


def seed(target, data):
    directory = os.path.join(TOP, target)
    os.makedirs(directory, exist_ok=True)
    counts[target] = counts.get(target, 0) + 1
    with open(os.path.join(directory, f"seed-{counts[target]:03}"), "wb") as file:
        file.write(data)


def answers():
    made = scripted.Engine([])
    texts = [made.inspect(scripted.ID), [made.row(scripted.ID)], [{"Path": p, "Kind": 1} for p in made.tree],
             {"Type": "container", "Action": "exec_start: sh", "timeNano": 1, "Actor": {"ID": scripted.ID, "Attributes": {"name": "box"}}}]
    for body in [json.dumps(t).encode() for t in texts] + list(scenario.BODIES.values()):
        seed("engine_answers", b"\0" + body[:20000])
    for head in (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"HTTP/1.1 101 UPGRADED\r\n\r\n",
                 b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"):
        seed("engine_answers", b"\1" + head)
    seed("engine_answers", b"\2" + b"\1\0\0\0\0\0\0\5hello\2\0\0\0\0\0\0\3err" + b"line\n" * 9)
    for event in scenario.EVENTS.values():
        seed("engine_answers", b"\2" + event[:4000])
    for node in made.tree.values():
        good = base64.b64encode(json.dumps(node.stat("f")).encode()).decode()
        seed("engine_answers", b"\3" + good.encode())
        for change in scenario.STATS.values():
            seed("engine_answers", b"\3" + change(good).encode()[:9000])
    seed("engine_answers", b"\3OCI runtime exec failed: exec: \"x\": executable file not found in $PATH: unknown")


def archives():
    made = scripted.Engine([])
    for path in ("/work/out/f", "/work/out/l", "/work/out", "/etc"):
        tar = made.archive(path)
        if len(tar) < 100000:
            seed("tar_read", tar)
    tar = made.archive("/work/out/f")
    for change in scenario.TARS.values():
        seed("tar_read", change(tar)[:50000])
    seed("tar_read", scenario.tar_of(("n" * 300, b"x", tarfile.REGTYPE), form=tarfile.GNU_FORMAT))
    seed("tar_read", scenario.tar_of(("ü" * 120, b"x", tarfile.SYMTYPE), pax={"mtime": "-1.5", "uid": "99999999", "SCHILY.xattr.user.a": "b"}))
    for name in (b"a", b"dir/file", b"x" * 99, b"d/" * 90 + b"f", b"n" * 255, b"\xff\xfe", "ü".encode() * 60, b"BZh91AY", b"a=b"):
        numbers = struct.pack("<IIq", 1000, 0x7fffffff, 1700000000 << 12) + b"\1\2\3\1\xa4\0\0\x20"
        seed("tar_write", numbers + name + b"\n" + numbers[:21] + b"\1\0\0" + b"d" + name + b"\n")


def texts():
    for lines in (b"/work\nout/f", b"//work/./x/\na", b"/a/../b\n../x", b"/\na//b", b"/%41 +&\n\xff", b"/x\n" + b"n" * 256):
        seed("guest_path", lines)
    for lines in (b'/work\nin\n1000:1000\n["out/","report.json"]', b'/a/b\nx/in\nguest\n["a","a/"]', b'/proc/x\nin\n:5\n[]',
                  b'/work\nin\n0:0\n["in/x","\\u00fc/","..",""]', b"/w\n\n\n[[]]"):
        seed("declaration", lines)
    seed("config", b"[rule a]\nname=job-*\nimage=py*:3\nlabel=team=x\nworkdir=/data\noutputs=a, b/ ,c\nin=up\n[mount]\ncache_budget=1g\nfreeze=never\n")
    seed("config", b"; comment\n[rule]\nname=\n[other]\nx=y\n[mount]\numask=0777\ndeadline=0.25\n")
    for text in (b"0unix:///var/run/docker.sock", b"0tcp://[::1]:2375", b"1tcp://host:2376", b"0ssh://x", b"0http://h", b"0npipe:////./pipe/x",
                 b"0unix://relative", b"0tcp://user:pw@host:99999/path?x#y"):
        seed("endpoint", text)
    for meta in ({"Name": "c", "Endpoints": {"docker": {"Host": "unix:///x.sock", "SkipTLSVerify": False}}},
                 {"Endpoints": {"docker": {"Host": "tcp://a:1", "SkipTLSVerify": True}}}, {"Endpoints": []}):
        seed("endpoint", b"c" + json.dumps(meta).encode())
    record = {"version": 1, "sandbox_id": "ab" * 32, "sandbox": "box", "path": "in/x", "size": 5, "mode": 420, "mtime_s": -1, "mtime_ns": 5,
              "local": True, "open": False, "attempts": 2, "errno": 28, "reason": "full"}
    seed("staging_record", json.dumps(record).encode())
    seed("staging_record", json.dumps(dict(record, path_hex="696e2fff")).encode())
    for options in (b"freeze=never,max_file_bytes=10g,state=running,uid=1,umask=022", b"ro,nosuid,x-systemd.automount,_netdev,comment=a\\,b",
                    b"cache_dir=/x,staging_dir=/y,temporary_names=*.swp:~*,deadline=0.5,linger=3", b"=,=x,,", b"engine=unix:///a"):
        seed("mount_options", options)
    for lines in (b"guest\n1000\nroot:x:0:0:root:/:/bin/sh\nguest:x:1000:1000::/work:/bin/sh\n", b"x\n4294967295\nx:x:4294967295:1:\nx:x:2:-3\nx:x:07:8",
                  b"staff\n0\nstaff:x:50:\n::::\n:\n\nstaff", b"a\n5\n" + b"a:" * 400 + b"\n" + b"9" * 400):
        seed("accounts", lines)
    for lines in (b"\3\x00f\n\x01d\n\x00d/g\n\x02l\n\x03p", b"\3\x01d\n\x00d/x\n\x00y=d/x\n\x00z=y", b"\1\x00a\n\x00a\n\x00b/c\n\x01..\n\x00../x\n\x00/y",
                  b"\2\x00h=h\n\x00i=j\n\x00j=i", b"\3" + b"\n".join(b"\x01" + b"d/" * i + b"e" for i in range(40))):
        seed("dir_tree", lines)
    for text in (b"2023-11-14T22:13:20.123456789Z", b"0001-01-01T00:00:00Z", b"9999-12-31T23:59:59+14:00", b"512m", b"9223372036854775807g", b"24h",
                 b"\x1b[31mred\x7f", "‮⁦ \u2028".encode(), b"\xed\xa0\x80\xc0\x80\\"):
        seed("text", text)


answers()
archives()
texts()
