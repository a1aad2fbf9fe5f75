#!/usr/bin/env python3
"""read_back.py PROGRAM: archives as we upload them, of names, modes, owners and times of every kind, read by GNU tar and by Python:
they find what was meant. PROGRAM is fuzz_tar_write over files, which has libarchive and our own reader find the same."""
import os, random, re, shutil, struct, subprocess, sys, tarfile, tempfile

scratch = tempfile.mkdtemp(prefix="sbxfs-tar.")
random.seed(1)
PARTS = [b"a", b"dir", b"x" * 99, b"n" * 255, b"\xff\xfe", "\u00fc".encode() * 60, b"a b", b"-rf", b"\\x", b"=", b"1 a=b", b"BZh91AY", b"\x1b[0m", b"'\""]
inputs = []
for number in range(150):
    data = b""
    for _ in range(random.randrange(1, 9)):
        seconds = random.choice([0, 1, 1700000000, 1 << 33, -1, 253402300799])
        data += struct.pack("<IIq", random.choice([0, 1000, 1 << 21, (1 << 32) - 2]), random.choice([0, 1000, 2097151]), seconds << 12)
        data += bytes(random.randrange(256) for _ in range(3)) + struct.pack(">H", random.randrange(4096)) + bytes([random.randrange(2)])
        data += struct.pack(">H", random.randrange(4096)) + b"/".join(random.choice(PARTS) for _ in range(random.randrange(1, 6))) + b"\n"
    path = os.path.join(scratch, f"input-{number}")
    with open(path, "wb") as file:
        file.write(data)
    inputs.append(path)
subprocess.run([sys.argv[1], *inputs], env=dict(os.environ, KEEP_TARS=scratch), check=True, timeout=60)


def meant(path):
    for line in open(path):
        directory, size, mode, uid, gid, seconds, nanos, name = line.split()
        full = b"./" + bytes.fromhex(name)
        yield (full, directory == "1", int(size), int(mode, 8), int(uid), int(gid)), int(seconds), int(nanos)


def by_python(path):
    with tarfile.open(path, "r:", errors="surrogateescape") as tar:
        for entry in tar:
            kind = {tarfile.DIRTYPE: True, tarfile.REGTYPE: False}[entry.type]
            data = b"" if kind else tar.extractfile(entry).read()
            assert len(data) == entry.size and not any(data)
            yield (entry.name.encode("utf-8", "surrogateescape"), kind, entry.size, entry.mode & 0o7777, entry.uid, entry.gid), entry.mtime


def by_gnu(path):
    text = subprocess.run(["tar", "--list", "-vv", "--numeric-owner", "--full-time", "--quoting-style=escape", "-f", path], check=True, capture_output=True,
                          env={"LC_ALL": "C", "TZ": "UTC", "PATH": os.environ["PATH"]}).stdout
    for line in text.splitlines():
        found = re.match(rb"([-d])([-rwxsStT]{9}) (\d+)/(\d+) +(\d+) (\S+ \S+) +(\./.*)$", line)
        letters, mode = found[2].decode(), 0
        for at, letter in enumerate(letters):
            mode |= (letter not in "-ST") << (8 - at)
        for at, bit in ((2, 0o4000), (5, 0o2000), (8, 0o1000)):
            mode |= bit if letters[at] in "sStT" else 0
        escapes = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"f": b"\f", b"v": b"\v", b"b": b"\b", b"a": b"\a", b"\\": b"\\", b" ": b" "}
        name = re.sub(rb"\\([0-7]{3}|.)", lambda m: bytes([int(m[1], 8)]) if len(m[1]) == 3 else escapes[m[1]], found[7])
        yield (name.rstrip(b"/") if found[1] == b"d" else name, found[1] == b"d", int(found[5]), mode, int(found[3]), int(found[4]))


checked = 0
for number in range(1, len(inputs) + 1):
    archive = os.path.join(scratch, f"{number}.tar")
    if not os.path.exists(archive):
        continue
    wanted = list(meant(archive[:-4] + ".meant"))
    for ours, (theirs, time) in zip(wanted, by_python(archive), strict=True):
        assert ours[0] == theirs, f"Python reads {theirs} where {ours[0]} was meant"
        assert abs(ours[1] + ours[2] / 1e9 - time) < 1e-3 * max(1, abs(time) * 1e-9), f"Python reads the time {time} of {ours}"
    for ours, theirs in zip(wanted, by_gnu(archive), strict=True):
        assert ours[0] == theirs, f"GNU tar reads {theirs} where {ours[0]} was meant"
    checked += len(wanted)
assert checked > 300
shutil.rmtree(scratch)
print(f"{checked} entries")
