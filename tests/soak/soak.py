#!/usr/bin/env python3
"""soak.py [SECONDS PROCESSES SANDBOXES RESTART_S]: a mount under load on an engine of its own (Docker 20.10).

Host processes find, cat, cp, rm and rsync at the same time on sandboxes that come and go, while the engine is killed and
started again every RESTART_S seconds with its containers left running. Every file begins with the SHA-256 of its rest, which
names its sandbox and path. One verdict a promise: no wrong byte, nothing acknowledged lost, only errors of the design, no stuck
process, memory and descriptors flat, nobody frozen, a clean unmount.

Default 75 s, 16 processes, 6 sandboxes, 25 s; with SBXFS_LONG 600 s, 64, 20, 60 s. SBXFS names the binary, SOAK_LOG keeps the
daemon's log.
"""
import collections, hashlib, io, json, os, random, re, shutil, signal, statistics, subprocess, sys, tarfile, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SBXFS = os.path.realpath(os.environ.get("SBXFS", os.path.join(TOP, "build/tools/sbxfs")))
DEFAULTS = (600, 64, 20, 60) if os.environ.get("SBXFS_LONG") else (75, 16, 6, 25)
SECONDS, PROCESSES, SANDBOXES, RESTART_S = (list(map(int, sys.argv[1:])) + list(DEFAULTS[len(sys.argv) - 1:]))[:4]
COMMAND_S = 240  # no command may run longer: several files, each with the mount's deadline of 20 s
KNOWN_S = 20     # by when the mount must know that a sandbox was replaced, a restart of the engine between
SETTLE_S = 12    # from the last command to a measurement: windows, workers and the retries of uploads are done
# What grows is what is left after a rest; a cache that is full has its size already after the warm-up.
RSS_FACTOR, RSS_SLACK_KB, FD_SLACK = 1.3, 8192, 24
# The errors of sbxfs(1) that an engine which comes and goes may cause; that a file is absent never is one of them.
ALLOWED = {"Host is down": "EHOSTDOWN", "Connection timed out": "ETIMEDOUT", "Stale file handle": "ESTALE", "No such file or directory": "ENOENT",
           "Input/output error": "EIO", "Operation not supported": "EOPNOTSUPP"}
GUEST = """mkdir -p out in; i=0
while :; do i=$((i+1)); { echo "$0 out/live $i"; head -c 3000 /dev/urandom; } >.body
s=$(sha256sum <.body); { echo "${s%% *}"; cat .body; } >.live; mv .live out/live; sleep 3; done"""

scratch = tempfile.mkdtemp(prefix="sbxfs-soak.", dir="/var/tmp")
state = os.path.join(scratch, "e")
engine_dir = os.path.join(state, "docker20")
MOUNT = os.path.join(scratch, "mnt")
env = {k: v for k, v in os.environ.items() if not k.startswith(("DOCKER_", "SBXFS_TEST"))}
env.update(SBXFS_ENGINE_STATE=state, DOCKER_HOST="unix://" + os.path.join(engine_dir, "engine.sock"), XDG_RUNTIME_DIR=scratch + "/run", LC_ALL="C",
           XDG_CACHE_HOME=scratch + "/cache", XDG_STATE_HOME=scratch + "/state", XDG_CONFIG_HOME=scratch + "/config")
lock = threading.Lock()
done, errors, problems = collections.Counter(), collections.Counter(), collections.defaultdict(list)
landed = {}          # (slot, generation, path) -> the bytes whose close was acknowledged
generation = {}      # slot -> the nonce of the sandbox that is there now
since = {}           # slot -> when it was made
slot_locks = [threading.Lock() for _ in range(SANDBOXES)]
running = threading.Event()   # cleared: no new command begins
over = threading.Event()
restarts, complaints, busy = 0, [], set()


def problem(kind, text):
    with lock:
        problems[kind].append(text[:300])


def sealed(name, path, nonce, size):
    body = f"{name} {path} {nonce}\n".encode() + random.randbytes(size)
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def settled(slot):
    """The nonce of a sandbox that the mount must know by now, else None."""
    return generation.get(slot) if time.time() - since.get(slot, time.time()) > KNOWN_S else None


def judge(data, slot, path, how, nonce=None):
    """NONCE: of the one sandbox of that name whose bytes these may be; what the guest itself rewrites has none."""
    name = name_of(slot)
    head, _, body = data.partition(b"\n")
    begin = f"{name} {path} " + (f"{nonce}\n" if nonce and path != "out/live" else "")
    if hashlib.sha256(body).hexdigest().encode() != head or not body.startswith(begin.encode()):
        problem("bytes", f"{how} {name}/{path}: {len(data)} bytes that begin with {data[:60]!r} and {body[:60]!r}, generation {nonce}")
    else:
        with lock:
            done["verified"] += 1
            done["of one generation"] += bool(nonce)


def absent(slot, path, nonce, words):
    """What was there before and after, and is said not to be."""
    if nonce and generation.get(slot) == nonce and any("No such file" in line for line in words):
        problem("absent", f"{name_of(slot)}/{path}, made {time.time() - since[slot]:.0f} s ago: {words[0]}")


def engine(*words, seconds=300):
    return subprocess.run([os.path.join(TOP, "tools/engine"), *words, "docker20"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)


def docker(*words, data=None, seconds=60):
    return subprocess.run(["docker", *words], env=env, input=data if data is not None else b"", capture_output=True, timeout=seconds)


# ---- the engine and its sandboxes

def name_of(slot):
    return f"soak-{slot}"


PATHS = [f"out/f{i}" for i in range(5)] + [f"out/d/g{i}" for i in range(12)] + ["out/large"]


def make_sandbox(slot):
    """Whatever was there goes; the next one has the same name and other files."""
    name, nonce, out = name_of(slot), random.randrange(1 << 48), io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for directory in ("out", "out/d", "in"):
            info = tarfile.TarInfo(directory)
            info.type, info.mode, info.uid, info.gid, info.mtime = tarfile.DIRTYPE, 0o755, 1000, 1000, int(time.time())
            tar.addfile(info)
        for path in PATHS:
            data = sealed(name, path, nonce, {"out/large": 1500000}.get(path, random.choice((0, 100, 5000, 60000))))
            info = tarfile.TarInfo(path)
            info.size, info.mode, info.uid, info.gid, info.mtime = len(data), 0o644, 1000, 1000, int(time.time())
            tar.addfile(info, io.BytesIO(data))
    try:
        generation.pop(slot, None)
        docker("rm", "-f", name)
        made = docker("create", "--name", name, "--network", "none", "--cap-drop", "ALL", "--label", "sbxfs.version=1", "--label",
                      'sbxfs.outputs=["out/"]', "sbxfs-test:latest", "sh", "-c", GUEST, name)
        for step in (lambda: made, lambda: docker("cp", "-", name + ":/work", data=out.getvalue()), lambda: docker("start", name)):
            result = step()
            if result.returncode:
                complaints.append(result.stderr.decode(errors="replace").strip()[-300:])
                return False
        since[slot] = time.time()
        generation[slot] = nonce
        done["sandboxes"] += 1
        return True
    except subprocess.TimeoutExpired:
        complaints.append("docker did not answer")
    return False


def churn():
    while not over.is_set():
        if running.is_set():
            slot = random.choice([s for s in range(SANDBOXES) if s not in generation] or range(SANDBOXES))
            with slot_locks[slot]:
                make_sandbox(slot)
        over.wait(3 if len(generation) == SANDBOXES else 0.5)


def restart_engine():
    """Killed as a crash would, started again as it was; containers run on."""
    global restarts, dockerd
    pid = int(open(os.path.join(engine_dir, "docker.pid")).read())
    words = [w for w in open(f"/proc/{pid}/cmdline").read().split("\0") if w and w != "--live-restore"]
    os.kill(pid, signal.SIGKILL if restarts % 2 else signal.SIGTERM)
    end = time.time() + 30
    while os.path.exists(f"/proc/{pid}") and time.time() < end:
        if dockerd:
            dockerd.poll()
        time.sleep(0.1)
    if os.path.exists(f"/proc/{pid}"):
        os.kill(pid, signal.SIGKILL)
    time.sleep(2)
    for stale in ("docker.pid", "engine.sock"):
        if os.path.exists(os.path.join(engine_dir, stale)):
            os.unlink(os.path.join(engine_dir, stale))
    dockerd = subprocess.Popen(words + ["--live-restore"], cwd=engine_dir, env=env, stdin=subprocess.DEVNULL, stdout=open(engine_dir + "/log", "a"),
                               stderr=subprocess.STDOUT, start_new_session=True)
    with open(os.path.join(engine_dir, "pid"), "w") as file:
        file.write(str(dockerd.pid))
    end = time.time() + 90
    while time.time() < end and docker("version", seconds=90).returncode != 0:
        time.sleep(0.3)
    restarts += 1


def restarter():
    while not over.wait(RESTART_S):
        if running.is_set():
            restart_engine()


# ---- the load

def command(words):
    """(status, stdout, lines of stderr); one that does not end is a problem, and so is an error that nobody may meet."""
    process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    busy.add(process)
    try:
        out, err = process.communicate(timeout=COMMAND_S)
    except subprocess.TimeoutExpired:
        problem("stuck", f"{' '.join(words)} after {COMMAND_S} s")
        process.kill()
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            problem("stuck", f"{' '.join(words)}: survives SIGKILL")
        return 1, b"", []
    finally:
        busy.discard(process)
    with lock:
        done[words[0]] += 1
    lines = err.decode(errors="replace").splitlines()
    for line in lines:
        said = re.search(r": ([A-Z][a-z/]+(?: [a-z/]+)*)(?: \(\d+\))?$", line)
        if not said or line.startswith(("rsync error", "rsync warning", "file has vanished", "cannot delete")):
            continue
        with lock:
            errors[ALLOWED.get(said[1], said[1])] += 1
        if said[1] not in ALLOWED:
            problem("errors", line)
    return process.returncode, out, lines


def content(path):
    with open(path, "rb") as file:
        return file.read()


def load(number):
    mine = os.path.join(scratch, f"w{number}")
    os.makedirs(mine)
    count = 0
    while not over.is_set():
        if not running.wait(0.5):
            continue
        slot = random.randrange(SANDBOXES)
        name, path, count = name_of(slot), random.choice(PATHS + ["out/live"] * 4), count + 1
        box, kind = os.path.join(MOUNT, name_of(slot)), random.choice(("find", "cat", "cat", "cat", "cp", "cp", "put", "put", "rm", "rsync"))
        before = settled(slot)
        same = lambda: before if before and generation.get(slot) == before else None
        if kind == "find":
            _, _, said = command(["find", box, "-type", "f"])
            absent(slot, "", before, [line for line in said if f"‘{box}’" in line or f"'{box}'" in line])
        elif kind == "cat":
            status, data, said = command(["cat", f"{box}/{path}"])
            if status == 0:
                judge(data, slot, path, "cat", same())
            absent(slot, path, before, said)
        elif kind == "cp":
            status, _, said = command(["cp", f"{box}/{path}", mine + "/copy"])
            if status == 0:
                judge(content(mine + "/copy"), slot, path, "cp", same())
            absent(slot, path, before, said)
        elif kind == "put":
            nonce, target = generation.get(slot), f"in/w{number}-{count % 3}"
            data = sealed(name, target, nonce, random.choice((10, 4000, 70000)))
            with open(mine + "/new", "wb") as file:
                file.write(data)
            with lock:
                landed.pop((slot, nonce, target), None)
            status, _, _ = command(["cp", mine + "/new", f"{box}/{target}"])
            if status == 0 and nonce and generation.get(slot) == nonce:
                with lock:
                    landed[slot, nonce, target] = data
        elif kind == "rm":
            with lock:
                ours = [k for k in landed if k[0] == slot and k[2].startswith(f"in/w{number}-")]
                for key in ours:
                    del landed[key]
            if ours:
                command(["rm", "-f", f"{box}/{ours[0][2]}"])
        else:
            shutil.rmtree(mine + "/tree", ignore_errors=True)
            command(["rsync", "-r", "--timeout", "120", box + "/out/d", mine + "/tree/"])
            for parent, _, files in os.walk(mine + "/tree"):
                for file in files:
                    if not file.startswith("."):
                        full = os.path.join(parent, file)
                        judge(content(full), slot, "out/" + os.path.relpath(full, mine + "/tree"), "rsync", same())


# ---- measuring

def measure():
    """The daemon at rest: resident kB, descriptors without the spools that its cache keeps, threads."""
    samples = []
    for _ in range(5):
        text = content(f"/proc/{daemon.pid}/status").decode()
        number = lambda key: int(re.search(key + r":\s+(\d+)", text)[1])
        descriptors = 0
        kinds.clear()
        for fd in os.listdir(f"/proc/{daemon.pid}/fd"):
            try:
                link = os.readlink(f"/proc/{daemon.pid}/fd/{fd}").replace(scratch, "")
            except OSError:
                continue  # closed meanwhile
            if not link.startswith("/cache"):
                descriptors += 1
                kinds[re.split(r"[:/0-9]", link.lstrip("/"))[0]] += 1
        samples.append((number("VmRSS"), descriptors, number("Threads")))
        time.sleep(0.4)
    return tuple(int(statistics.median(column)) for column in zip(*samples))


def rest():
    """Commands end, then the daemon settles. The time they take is bounded by COMMAND_S."""
    running.clear()
    end = time.time() + COMMAND_S + 30
    while time.time() < end and busy:
        time.sleep(0.5)
    time.sleep(SETTLE_S)


def verdict(name, bad, figures=""):
    print(f"{'FAIL' if bad else 'ok'} soak: {name}{': ' + bad if bad else ''}{' (' + figures + ')' if figures else ''}", flush=True)
    return not bad


def first(kind):
    return f"{len(problems[kind])}: {problems[kind][0]}" if problems[kind] else ""


def few(what, least):
    return f"only {done[what]} {what}, {least} wanted" if done[what] < least else ""


def broken_by_engine(name):
    """Docker that is killed between its runtime's pause and its own note of it can never again pause nor resume that container: its
    own client is told so too."""
    said = docker("pause", name)
    if said.returncode == 0:
        docker("unpause", name)
    broken = said.returncode != 0 and b"cannot pause a paused container" in said.stderr
    if broken:
        done["broken"] += 1
    return broken


def paused():
    return docker("ps", "--filter", "status=paused", "--format", "{{.Names}}").stdout.decode().split()


def read_all_back():
    """The next good request is right: everything of every sandbox, and everything acknowledged, through the mount."""
    checked = 0
    for slot in range(SANDBOXES):
        nonce, name = generation.get(slot), name_of(slot)
        if nonce is None:
            continue
        for path in PATHS + ["out/live"]:
            try:
                judge(content(f"{MOUNT}/{name}/{path}"), slot, path, "at the end", settled(slot))
                checked += 1
            except OSError as failure:
                if broken_by_engine(name):
                    break
                problem("end", f"{name}/{path}: {failure.strerror}")
        for (s, n, target), data in landed.items():
            if (s, n) != (slot, nonce):
                continue
            # From the engine, not from us.
            got = docker("cp", f"{name}:/work/{target}", "-")
            try:
                with tarfile.open(fileobj=io.BytesIO(got.stdout)) as tar:
                    if tar.extractfile(tar.next()).read() != data:
                        problem("lost", f"{name}/{target}: the guest has other bytes than were acknowledged")
            except tarfile.TarError:
                problem("lost", f"{name}/{target}: {got.stderr.decode()[:200]}")
            checked += 1
    return checked


def run():
    global daemon
    up = engine("up")
    if up.returncode == 77:
        print("skip soak: " + up.stdout.strip().splitlines()[-1])
        return [], 1
    if up.returncode:
        raise SystemExit("FAIL soak: the engine did not start: " + up.stdout[-300:])
    restart_engine()
    for directory in ("mnt", "run", "config"):
        os.makedirs(os.path.join(scratch, directory), mode=0o700)
    for slot in range(SANDBOXES):
        for _ in range(3):
            if make_sandbox(slot):
                break
        else:
            raise SystemExit("FAIL soak: a sandbox cannot be made: " + complaints[-1])
    log = open(scratch + "/mount.log", "w")
    daemon = subprocess.Popen([SBXFS, "mount", MOUNT, "-f", "-o", "deadline=20,cache_budget=32m"], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    end = time.time() + 30
    while not os.path.ismount(MOUNT):
        if daemon.poll() is not None or time.time() > end:
            raise SystemExit("FAIL soak: the mount does not serve: " + content(scratch + "/mount.log").decode()[-300:])
        time.sleep(0.1)
    threads = [threading.Thread(target=load, args=(n,), daemon=True) for n in range(PROCESSES)]
    threads += [threading.Thread(target=churn, daemon=True), threading.Thread(target=restarter, daemon=True)]
    running.set()
    for thread in threads:
        thread.start()
    began = time.time()
    over.wait(SECONDS * 0.4)
    rest()
    before = measure()
    running.set()
    over.wait(max(SECONDS * 0.6, SECONDS - (time.time() - began)))
    rest()
    over.set()
    for thread in threads:
        thread.join(COMMAND_S)
    if daemon.poll() is not None:
        problem("daemon", f"it ended with {daemon.returncode}: {content(scratch + '/mount.log').decode()[-300:]}")
        return [verdict("the daemon lives", first("daemon"))], 0
    after = measure()
    checked = read_all_back()
    end = time.time() + 20
    while (frozen := paused()) and time.time() < end:  # the last reader's window closes by itself
        time.sleep(0.5)
    grown = after[0] > before[0] * RSS_FACTOR + RSS_SLACK_KB
    leaked = after[1] > before[1] + FD_SLACK
    results = [
        verdict("no wrong byte", first("bytes") or few("verified", 100) or few("of one generation", 20),
                f"{done['verified']} files verified, {done['of one generation']} by the sandbox's own nonce"),
        verdict("nothing that is there is called absent", first("absent")),
        verdict("the next good request is right", first("end") or ("nothing was read" if not checked else ""), f"{checked} read at the end"),
        verdict("nothing acknowledged is lost", first("lost") or ("nothing was acknowledged" if not landed else ""), f"{len(landed)} on record"),
        verdict("only errors of the design", first("errors"), " ".join(f"{k} {v}" for k, v in sorted(errors.items()))),
        verdict("no stuck process", first("stuck"), " ".join(f"{k} {done[k]}" for k in ("find", "cat", "cp", "rm", "rsync"))),
        verdict("memory is flat", f"{before[0]} kB became {after[0]} kB" if grown else "", f"{before[0]} kB, {after[0]} kB at the end"),
        verdict("descriptors are flat", f"{before[1]} became {after[1]}" if leaked else "", f"{before[1]}, {after[1]} at the end: {dict(kinds)}; threads {before[2]}, {after[2]}"),
        verdict("nobody stays frozen", " ".join(frozen) or ("the engine was not restarted" if restarts < 2 else ""), f"{restarts - 1} restarts of the engine, {done['sandboxes']} sandboxes made, {done['broken']} broken by Docker itself"),
    ]
    gone = subprocess.run([SBXFS, "umount", MOUNT], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    try:
        status = daemon.wait(30)
    except subprocess.TimeoutExpired:
        status = "nothing after 30 s"
    # 13: what was for sandboxes that are gone is kept.
    bad = gone.stderr.strip() if gone.returncode not in (0, 13) else f"the daemon ended with {status}" if status else "still mounted" if os.path.ismount(MOUNT) else ""
    return results + [verdict("a clean unmount", bad)], 0


daemon = dockerd = None
kinds = collections.Counter()  # of the descriptors at the last measurement
results, skipped = [], 0
try:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    results, skipped = run()
finally:
    over.set()
    running.clear()
    if daemon and daemon.poll() is None:
        daemon.kill()
        daemon.wait()
    subprocess.run(["umount", "-l", MOUNT], stderr=subprocess.DEVNULL)
    engine("down")
    if not all(results) and os.path.exists(scratch + "/mount.log"):
        # What the errnos do not tell, beside the verdicts: the log goes with the scratch directory.
        said = re.findall(r".*(?:agree|suspended|somebody else|frozen|cgroup|paus).*", content(scratch + "/mount.log").decode(errors="replace"))
        print("\n".join(f"    of {len(said)}: {line[:200]}" for line in said[-20:]), flush=True)
    if os.environ.get("SOAK_LOG") and os.path.exists(scratch + "/mount.log"):
        shutil.copy(scratch + "/mount.log", os.environ["SOAK_LOG"])
    shutil.rmtree(scratch, ignore_errors=True)
    print(f"{sum(results)} passed, {len(results) - sum(results) + (not results and not skipped)} failed, {skipped} skipped", flush=True)
# Threads that still wait for something must not keep us.
os._exit(0 if results and all(results) or skipped else 1)
