"""Names that break tools: plant DIR writes one file for each, verify DIR compares what a mount shows of them."""
import errno
import os
import sys

NAMES = [
    b"plain", b"with space", b" leading", b"trailing ", b"quote'single", b'quote"double', b"new\nline", b"tab\there",
    b"per%cent", b"%41", b"%2F", b"plus+sign", b"a&b", b"a;b", b"a#b", b"a=b", b"back\\slash", b"star*", b"*", b"what?",
    b"[x]", b"x", b"[un", b"un]closed", b"[a-z]", b"{a,b}", b"~", b"$HOME", b"`id`", b"-rf", b"...", b".hidden", b"a:b",
    b"\x01control", b"\x7fdel", "żółć".encode(), "漢字".encode(), "e\u0301".encode(), "\u00e9".encode(), b"L" * 255,
    ("ü" * 127).encode(), b"!bang", b"<angle>", b"|pipe", b"@", b",comma", b"backslashn\\n", b"\\", b"\\*", b".wh.notawhiteout",
]
# What no JSON can carry: listed, and read exactly or refused, but never empty or another file's bytes.
RAW = [b"bad\xff", b"\xfe\xfebad"]


def content(name):
    return b"content of " + name.hex().encode() + b"\n"


def plant(directory):
    for name in NAMES + RAW:
        with open(os.path.join(directory, name), "wb") as out:
            out.write(content(name))
    nested = os.path.join(directory, b"dir with [glob]* %2F", b"in\nner")
    os.makedirs(nested)
    with open(os.path.join(nested, b"leaf?"), "wb") as out:
        out.write(content(b"leaf?"))
    for base, dirs, files in os.walk(directory):
        for each in dirs + files:
            os.lchown(os.path.join(base, each), 1000, 1000)


def verify(directory):
    problems = []
    listed = set(os.listdir(directory))
    wanted = set(NAMES + RAW + [b"dir with [glob]* %2F"])
    problems += ["not listed: %r" % n for n in sorted(wanted - listed)]
    problems += ["listed but not there: %r" % n for n in sorted(listed - wanted)]
    checks = [(n, os.path.join(directory, n)) for n in NAMES + RAW]
    checks.append((b"leaf?", os.path.join(directory, b"dir with [glob]* %2F", b"in\nner", b"leaf?")))
    for name, path in checks:
        try:
            with open(path, "rb") as source:
                got = source.read()
            if got != content(name):
                problems.append("%r holds %r" % (name, got[:80]))
            if os.stat(path).st_size != len(content(name)):
                problems.append("%r has size %d" % (name, os.stat(path).st_size))
        except OSError as problem:
            if not (name in RAW and problem.errno == errno.EILSEQ):
                problems.append("%r: %s" % (name, errno.errorcode.get(problem.errno)))
    for each in problems:
        print(each)
    return 1 if problems else 0


sys.exit({"plant": plant, "verify": verify}[sys.argv[1]](os.fsencode(sys.argv[2])))
