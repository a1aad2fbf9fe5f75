"""passthrough.py SBXFS: reads that the kernel passes through to the spool. Called by passthrough.sh, where libfuse has it."""
import contextlib, hashlib, json, mmap, os, shutil, subprocess, sys, tempfile, time

SBXFS, MIB = os.path.abspath(sys.argv[1]), 1 << 20
scratch = tempfile.mkdtemp(prefix="sbxfs-passthrough.", dir="/var/tmp")
os.environ.update(XDG_RUNTIME_DIR=scratch, XDG_CACHE_HOME=scratch, XDG_STATE_HOME=scratch)
MOUNT, NAME = os.path.join(scratch, "mnt"), f"passthrough-{os.getpid()}"
BIG, SMALL = f"{MOUNT}/{NAME}/out/big", f"{MOUNT}/{NAME}/out/small"
counts, mounts = {"ok": 0, "FAIL": 0}, []


def run(*words, **keywords):
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, timeout=120, **keywords).stdout


def guest(line):
    return run("docker", "exec", NAME, "sh", "-c", line).decode()


def new_version(mib=64):
    """Other bytes in the guest, known to the mount; their SHA-256."""
    guest(f"head -c {mib * MIB} /dev/urandom > out/.new; mv out/.new out/big")
    time.sleep(2.5)
    return guest("sha256sum out/big").split()[0]


def digest(fd):
    state, at = hashlib.sha256(), 0
    while piece := os.pread(fd, MIB, at):
        state.update(piece)
        at += len(piece)
    return state.hexdigest()


@contextlib.contextmanager
def opened(path=BIG):
    fd = os.open(path, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


def read(path=BIG):
    with opened(path) as fd:
        return digest(fd)


def passed():
    with open(f"{MOUNT}/.sbxfs/stats.json") as file:
        stats = json.load(file)
    return stats["requests"]["passed_through"], stats["requests"]["reads"]


def filled():
    """A version of which all bytes are in the spool, and no handle is left."""
    want = new_version()
    assert read() == want, "the first read"
    time.sleep(0.2)  # the release is on its way
    return want


@contextlib.contextmanager
def mounted(*options):
    log = open(f"{scratch}/log", "w+")
    daemon = subprocess.Popen([SBXFS, "mount", "-f", "-v", *(w for o in options for w in ("-o", o)), MOUNT], stdin=subprocess.DEVNULL,
                              stdout=log, stderr=log)
    end = time.time() + 20
    try:
        while not os.path.ismount(MOUNT):
            assert time.time() < end and daemon.poll() is None, open(f"{scratch}/log").read()[-500:]
            time.sleep(0.05)
        yield daemon
    finally:
        daemon.terminate()
        try:
            daemon.wait(20)
        except subprocess.TimeoutExpired:
            daemon.kill()
    assert daemon.returncode == 0, f"the daemon ended with {daemon.returncode}"


def test_a_finished_file_is_read_past_us():
    with mounted():
        want = filled()
        before = passed()
        assert before[0] == 0, "the first read was not of a finished file"
        assert read() == want
        after = passed()
        assert after[0] == 1, f"{after[0]} opens passed through"
        # Those of stats.json itself: this file would take 512.
        assert after[1] - before[1] < 8, f"{after[1] - before[1]} reads came to us"


def test_beside_a_reader_of_the_first_hour():
    """A cached open and one that passes cannot be open at once: the kernel would answer EIO."""
    with mounted():
        want = new_version()
        with opened() as first:
            os.pread(first, 1024, 0)
            assert read() == want and digest(first) == want
            assert passed()[0] == 0
            assert read() == want, "beside a cached one, finished"
            assert passed()[0] == 0
        time.sleep(0.2)
        assert read() == want and passed()[0] == 1


def test_several_share_it():
    with mounted():
        want = filled()
        a = os.open(BIG, os.O_RDONLY)
        with opened() as b:
            os.close(a)
            assert digest(b) == want
            assert read() == want
        assert read() == want
        assert passed()[0] == 4, f"{passed()[0]} opens passed through"


def test_mapped():
    with mounted():
        want = filled()
        with opened() as fd:
            view = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
        assert passed()[0] == 1
        assert read() == want
        assert hashlib.sha256(view).hexdigest() == want, "what is mapped after the close"
        view.close()


def test_an_open_file_keeps_its_version():
    with mounted():
        old = filled()
        with opened() as fd:
            new = new_version()
            assert read() == new and new != old
            assert digest(fd) == old
        assert passed()[0] == 1


def test_a_removed_sandbox_leaves_the_open_file():
    with mounted():
        want = filled()
        with opened() as fd:
            run("docker", "rm", "-f", NAME)
            time.sleep(1)
            assert digest(fd) == want
        start()


def test_unbuffered():
    """O_DIRECT wants whole blocks of the spool's file system; of us it never did."""
    with mounted():
        want = filled()
        direct = lambda: hashlib.sha256(run("dd", "if=" + BIG, "iflag=direct", "bs=1000000", "status=none")).hexdigest()
        assert direct() == want and passed()[0] == 0
        time.sleep(0.2)
        with opened() as fd:
            assert passed()[0] == 1
            assert direct() == want, "beside one that passes"
            assert digest(fd) == want
        assert direct() == want


def test_small_ones_are_answered_by_us():
    with mounted():
        want = guest("head -c 1000 /dev/urandom > out/small; sha256sum out/small").split()[0]
        time.sleep(2.5)
        assert read(SMALL) == want and read(SMALL) == want
        assert passed()[0] == 0


def used(path):
    room = os.statvfs(path)
    return (room.f_blocks - room.f_bfree) * room.f_frsize // MIB


def test_room_is_given_back():
    """The kernel's hold of a spool ends with its last reader: else each version would stay on the disk."""
    cache = os.path.join(scratch, "room")
    os.mkdir(cache)
    run("mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", cache)
    mounts.append(cache)
    with mounted(f"cache_dir={cache}", "cache_budget=100m"):
        for version in range(5):
            want = filled()
            assert read() == want and passed()[0] == version + 1
        most = used(cache)
        assert 60 <= most <= 140, f"{most} MiB are used for 5 versions of 64"


def test_not_on_an_overlay():
    """Where the kernel refuses, all is read as without it."""
    top = os.path.join(scratch, "overlay")
    lower, upper, work, merged = (os.path.join(top, name) for name in ("lower", "upper", "work", "merged"))
    for directory in (lower, upper, work, merged):
        os.makedirs(directory)
    run("mount", "-t", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", "overlay", merged)
    mounts.append(merged)
    with mounted(f"cache_dir={merged}"):
        want = filled()
        assert read() == want and read() == want
        assert passed()[0] == 0
        said = open(f"{scratch}/log").read()
        assert said.count("does not pass reads through") == 1, said[-500:]


def start():
    run("docker", "run", "-d", "--name", NAME, "--network", "none", "--label", "sbxfs.version=1", "--label", 'sbxfs.outputs=["out/"]', "sbxfs-test:latest")
    guest("mkdir -p out")


try:
    os.mkdir(MOUNT)
    start()
    for name, test in [(n, t) for n, t in globals().items() if n.startswith("test_")]:
        try:
            test()
            word, why = "ok", ""
        except Exception as failure:
            word, why = "FAIL", f": {type(failure).__name__} {failure}"
        counts[word] += 1
        print(f"{word} {name}{why}", flush=True)
finally:
    subprocess.run(["docker", "rm", "-f", NAME], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    for path in [MOUNT] * os.path.ismount(MOUNT) + mounts:
        subprocess.run(["umount", "-l", path], timeout=10)
    shutil.rmtree(scratch, ignore_errors=True)
print(f"{counts['ok']} passed, {counts['FAIL']} failed, 0 skipped")
sys.exit(counts["FAIL"] > 0)
