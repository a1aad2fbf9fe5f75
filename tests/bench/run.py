"""One table: each row runs sbxfs and its rivals in turn on the same sandbox. See run.sh."""
import contextlib, io, itertools, os, shutil, statistics, subprocess, sys, tarfile, tempfile, threading, time, urllib.parse

from alone import Alone, alone
from world import SILENT, World

engine, build, repeat, chosen = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
world = World(engine, build, repeat)
podman, docker20 = engine.startswith("podman"), engine == "docker20"
number = itertools.count()


def seconds(value):
    if value < 0.001:
        return f"{value * 1e6:.1f} µs"
    return f"{value * 1000:.1f} ms" if value < 1 else f"{value:.2f} s"


def row(name, ours, rival, theirs, target, note="", bound=None):
    """BOUND: the seconds that the engine alone takes for what we ask of it, the least that our ratio can be."""
    ratio = ours / theirs if theirs else float("nan")
    verdict = "met" if ratio <= target else "missed"
    if bound is not None:
        note = "; ".join(filter(None, [note, f"the engine alone {seconds(bound)}, ratio {bound / theirs:.2f}"]))
    print(f"| {name} | {seconds(ours)} | {rival}: {seconds(theirs)} | {ratio:.2f} | {target:g} | {verdict} | {note} |", flush=True)


def fact(name, value, target, good, note=""):
    print(f"| {name} | {value} | - | - | {target} | {'met' if good else 'missed'} | {note} |", flush=True)


def cat(path):
    with open(path, "rb") as file:
        while file.read(1 << 20):
            pass


def tool(*words):
    world.run(*words)


def dd(path):
    """A reader as lean as the curl beside it: Python's own would fault in a new buffer for each piece."""
    tool("dd", "if=" + path, "of=/dev/null", "bs=1M", "status=none")


def in_turn(repeat, before, ours, *rivals):
    """Medians of ours and of each rival, one after the other, since the machine changes. After each of ours the guests get back
    the time that it took of them: a read that waits for that measures the pace of the windows."""
    times = [[] for _ in range(1 + len(rivals))]
    for _ in range(repeat):
        for each, rival in zip(times[1:], rivals):
            each.append(world.once(rival))
        before()
        times[0].append(world.once(ours))
        time.sleep(times[0][-1] + 1)
    return [statistics.median(each) for each in times]


def docker_cp(*words):
    tool("docker", "cp", *words)


def tar_of(directory, name):
    """The archive that a client would send for DIRECTORY."""
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w") as tar:
        tar.add(directory, name)
    return body.getvalue()


def curl_archive(name, path, socket=None):
    world.run("curl", "-sf", "-o", "/dev/null", "--unix-socket", socket or world.socket,
              f"http://d/v1.41/containers/{name}/archive?path={urllib.parse.quote(path, safe='')}")


def fresh_directory():
    return tempfile.mkdtemp(dir=world.directory)


def cold_small():
    name = world.sandbox("small", "out/")
    world.guest(name, "mkdir -p out/a/b; for i in $(seq 40); do head -c 1024 /dev/urandom > out/a/b/f$i; done")
    world.mount()
    fresh = lambda: f"out/a/b/f{next(number) % 40 + 1}"

    def checked():
        path = "/work/" + fresh()
        tool("docker", "pause", name)
        parts = path.strip("/").split("/")
        for depth in range(1, len(parts) + 1):
            here = urllib.parse.quote("/" + "/".join(parts[:depth]), safe="")
            tool("curl", "-sf", "-I", "-o", "/dev/null", "--unix-socket", world.socket, f"http://d/v1.41/containers/{name}/archive?path={here}")
        tool("docker", "cp", f"{name}:{path}", os.path.join(world.directory, "copy"))
        tool("docker", "unpause", name)

    def asked(requests):
        path = "/work/" + fresh()
        requests.walk(path)
        requests.archive("HEAD", "/etc/passwd")
        requests.archive("HEAD", "/etc/group")
        requests.archive("GET", path)

    # Each repetition reads a file that was never looked at, and waits out the guest's own half of the time.
    ours, checks, plain = in_turn(repeat, lambda: time.sleep(1.2), lambda: tool("cat", world.path(name, fresh())), checked,
                                  lambda: docker_cp(f"{name}:/work/{fresh()}", os.path.join(world.directory, "copy")))
    world.unmount()
    bound = alone(world.socket, name, asked, repeat)
    row("cold cat, 1 KiB three levels deep", ours, "docker client with the same checks", checks, 0.40 if podman else 0.20, bound=bound)
    row("the same", ours, "docker cp, no checks", plain, 1.0 if docker20 else 1.5, bound=bound)
    return ours


def warm_small():
    name = world.sandbox("warm", "out/")
    world.guest(name, "mkdir -p out; head -c 1024 /dev/urandom > out/f")
    world.mount()
    path = world.path(name, "out/f")
    cat(path)
    local = tempfile.mkdtemp(dir="/dev/shm")
    shutil.copy(path, os.path.join(local, "f"))
    time.sleep(0.7)  # the window of the first read is closed, which is the engine's work, and the attributes are still good
    before = world.stats()["engine"]["requests"]
    ours = world.median(lambda: cat(path), repeat=50)
    moved = world.stats()["engine"]["requests"] - before
    row("warm cat within the timeout", ours, "tmpfs", world.median(lambda: cat(os.path.join(local, "f")), repeat=50), 1.5, f"{moved} engine requests")
    shutil.rmtree(local)
    time.sleep(3)
    before = world.stats()["engine"]["archive_gets"]
    cat(path)
    moved = world.stats()["engine"]["archive_gets"] - before
    fact("warm cat after the timeout, unchanged", f"{moved} bodies", "0 bodies", moved == 0)


def many_small():
    name = world.sandbox("many", "out/")
    world.guest(name, "mkdir -p out; i=0; while [ $i -lt 1000 ]; do head -c 1024 /dev/urandom > out/f$i; i=$((i+1)); done")
    pattern = world.path(name, "out") + "/*"
    ours, whole = in_turn(repeat, world.mount, lambda: world.shell(f"cat {pattern} > /dev/null"),
                          lambda: docker_cp(f"{name}:/work/out", fresh_directory()))
    stats = world.stats()
    listing, shown = in_turn(repeat, world.mount, lambda: tool("ls", "-l", world.path(name, "out")),
                             lambda: tool("docker", "exec", name, "ls", "-l", "/work/out"))
    world.mount()
    os.listdir(world.mount_point)
    for i in range(1000):
        os.stat(world.path(name, f"out/f{i}"))
    time.sleep(1)  # a window counts when it is closed
    stall = world.stats()["freezes"]
    world.unmount()
    each = world.median(lambda: [docker_cp(f"{name}:/work/out/f{i}", os.path.join(world.directory, "copy")) for i in range(20)], repeat=3) * 50

    def asked(requests):
        requests.walk("/work/out")
        requests.send("GET", "/changes")
        requests.archive("GET", "/work/out")
    bound = alone(world.socket, name, asked, repeat)
    row("cat out/*, 1,000 × 1 KiB", ours, "docker cp of the directory", whole, 1.2,
        f"{stats['engine']['archive_gets']} bodies, {stats['freezes']['windows']} windows", bound)
    row("the same", ours, "one docker cp a file (20 measured, × 50)", each, 0.02)
    row("ls -l of 1,000, cold", listing, "docker exec ls -l", shown, 1.5, bound=bound)
    fact("guest stall of 1,000 stats", f"{stall['windows']} windows, {stall['frozen_ms']} ms", "2 windows", stall["windows"] <= 2)


def big_listing():
    name = world.sandbox("hundreds", "out/")
    world.guest(name, "mkdir -p out; for i in $(seq 10); do dd if=/dev/zero of=out/b$i bs=1M count=100 2>/dev/null; done")
    world.mount()
    os.listdir(world.mount_point)
    before = world.stats()["engine"]["bytes_in"]
    os.listdir(world.path(name, "out"))
    moved = world.stats()["engine"]["bytes_in"] - before
    ours = world.median(lambda: tool("ls", world.path(name, "out")), before=world.mount)
    world.unmount()
    row("ls of 10 × 100 MiB, cold", ours, "archive GET of the directory", world.median(lambda: curl_archive(name, "/work/out"), repeat=3), 0.1,
        f"{moved} bytes moved, {'below' if moved < 1 << 20 else 'NOT below'} 1 MiB")


def gigabyte(small):
    name = world.sandbox("giga", "out/")
    world.guest(name, "mkdir -p out; dd if=/dev/zero of=out/g bs=1M count=1024 2>/dev/null")
    path = world.path(name, "out/g")
    options = ("max_file_bytes=2g", "cache_budget=3g")
    cold, beside_cold = in_turn(repeat, lambda: world.mount(*options), lambda: dd(path), lambda: curl_archive(name, "/work/out/g"))
    local = os.path.join(world.directory, "g")
    shutil.copy(path, local)
    dd(local)
    # Ours first looks once more at what was read more than a second ago: that is not the page cache.
    warm, beside = in_turn(repeat, lambda: os.stat(path), lambda: dd(path), lambda: dd(local))
    passed = world.stats()["requests"]["passed_through"]
    os.unlink(local)
    before = []

    def remount():
        world.mount(*options)
        os.stat(path)
        before[:] = [world.stats()["engine"]["bytes_in"]]
        time.sleep(1.2)
    head = world.median(lambda: tool("head", "-c", "1024", path), before=remount)
    time.sleep(1)
    moved = world.stats()["engine"]["bytes_in"] - before[0]
    world.unmount()
    bound = alone(world.socket, name, lambda requests: (requests.walk("/work/out/g"), curl_archive(name, "/work/out/g")), repeat)
    row("read 1 GiB, cold", cold, "curl of the archive to /dev/null", beside_cold, 1.10, bound=bound)
    row("read 1 GiB, warm", warm, "dd of the same bytes from a local file, warm", beside, 1.1 if passed else 3, "passed through" if passed else "")
    if small:
        row("head -c 1K of 1 GiB", head, "cold cat of 1 KiB", small, 1.2, f"{moved >> 20} MiB moved, {'below' if moved < 16 << 20 else 'NOT below'} 16")


def eight_readers():
    names = [world.sandbox(f"eight{i}", "out/") for i in range(8)]
    for name in names:
        world.guest(name, "mkdir -p out; dd if=/dev/zero of=out/f bs=1M count=64 2>/dev/null")

    def at_once(action):
        threads = [threading.Thread(target=action, args=(name,)) for name in names]
        [t.start() for t in threads]
        [t.join() for t in threads]
    ours, theirs = in_turn(repeat, world.mount, lambda: at_once(lambda n: dd(world.path(n, "out/f"))),
                           lambda: at_once(lambda n: curl_archive(n, "/work/out/f")))
    world.unmount()

    def asked(name):
        Alone(world.socket, name).frozen(lambda requests: (requests.walk("/work/out/f"), curl_archive(name, "/work/out/f")))
    bound = world.median(lambda: at_once(asked))
    row("8 readers of 8 sandboxes, 64 MiB", ours, "8 curls", theirs, 1.2, bound=bound)


def uploads():
    name = world.sandbox("in", "out/")
    small, large = fresh_directory(), fresh_directory()
    for i in range(1000):
        with open(os.path.join(small, f"f{i}"), "wb") as file:
            file.write(os.urandom(1024))
    with open(os.path.join(large, "f"), "wb") as file:
        for _ in range(256):
            file.write(os.urandom(1 << 20))
    fresh = lambda: f"in/t{next(number)}"
    world.docker("exec", name, "mkdir", "-p", "/work/in")
    for tree, title, target in ((small, "put, 1,000 × 1 KiB", 0.8), (large, "put, 1 × 256 MiB", 1.0)):
        ours, theirs = in_turn(repeat, lambda: time.sleep(1), lambda: tool(world.binary, "put", name, tree, "--to", fresh()),
                               lambda: docker_cp(tree, f"{name}:/work/{fresh()}"))
        bodies = [tar_of(tree, f"t{next(number)}") for _ in range(repeat)]

        def asked(requests):
            requests.archive("HEAD", "/etc/passwd")
            requests.archive("GET", "/etc/passwd")
            requests.walk("/work/in")
            requests.archive("PUT", "/work/in", bodies.pop())
            requests.walk("/work/in")
        row(title, ours, "docker cp of the tree", theirs, target, bound=alone(world.socket, name, asked, repeat))


def copies():
    name = world.sandbox("copies", "out/")
    small, few = fresh_directory(), fresh_directory()
    for i in range(1000):
        for directory in (small, few)[:1 + (i < 20)]:
            with open(os.path.join(directory, f"f{i}"), "wb") as file:
                file.write(os.urandom(1024))
    fresh = lambda: f"in/t{next(number)}"
    world.guest(name, "mkdir -p in")
    world.mount("async")
    mounted = world.path(name, "in")

    def asynchronous():
        tool("cp", "-r", small, os.path.join(mounted, f"t{next(number)}"))
        tool(world.binary, "sync", world.mount_point)
    before = world.stats()
    ours, whole = in_turn(repeat, lambda: None, asynchronous, lambda: docker_cp(small, f"{name}:/work/{fresh()}"))
    after = world.stats()
    uploads = (after["in"]["uploads"] - before["in"]["uploads"]) / world.repeat
    row("cp -r of 1,000 × 1 KiB into in/, -o async, and sync", ours, "docker cp of the tree", whole, 1.5, f"{uploads:.1f} uploads each")
    world.mount()
    ours, each = in_turn(3, lambda: None, lambda: tool("cp", "-r", few, world.path(name, fresh())),
                         lambda: [docker_cp(os.path.join(small, f"f{i}"), f"{name}:/work/in/") for i in range(20)])
    world.unmount()
    body = tar_of(os.path.join(small, "f0"), "f0")
    bound = alone(world.socket, name, lambda requests: (requests.walk("/work/in"), requests.archive("PUT", "/work/in", body),
                                                        requests.walk("/work/in/f0"), requests.send("POST", "/unpause"), requests.send("POST", "/pause")), repeat)
    row("cp -r of 1,000 × 1 KiB into in/ (20 measured, × 50)", ours * 50, "one docker cp a file (20 measured, × 50)", each * 50, 0.5, bound=bound * 1000)


@contextlib.contextmanager
def scripted(*lines):
    """A mount of the scripted engine of tests/fault, not there yet: its options."""
    fault = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fault")
    scenario, socket = os.path.join(world.directory, "scenario"), os.path.join(world.directory, f"scripted{next(number)}")
    with open(scenario, "w") as file:
        file.write("\n".join([*lines, "op list out", "expect OK", ""]))
    engine = subprocess.Popen([sys.executable, os.path.join(fault, "engine.py"), socket, scenario], **{**SILENT, "stdout": subprocess.PIPE})
    try:
        engine.stdout.readline()
        yield socket
    finally:
        world.unmount()
        engine.kill()
        engine.wait()


def paced():
    """What our own path adds to an engine that sends as fast as Docker 20.10 does on a quiet machine."""
    size = 512
    with scripted("match GET */archive*out/f", "times all", f"fault pace 250 {size}", f"set out/f size {size << 20}") as socket:
        ours, theirs = in_turn(repeat, lambda: world.mount("engine=unix://" + socket, "max_file_bytes=2g"), lambda: dd(world.path("box", "out/f")),
                               lambda: curl_archive("box", "/work/out/f", socket))
        row(f"read {size} MiB of a scripted engine's 250 MB/s, cold", ours, "curl of the archive to /dev/null", theirs, 1.10)


def thousand():
    """Against the scripted engine: what many sandboxes cost us, not an engine."""
    with scripted("sandboxes 1000") as socket:
        mount = lambda: world.mount("engine=unix://" + socket)
        mounted = world.median(mount, before=world.unmount)
        first = world.median(lambda: os.listdir(world.mount_point), before=mount)
        process = f"/proc/{world.daemon.pid}"
        names = len(os.listdir(world.mount_point))
        again = world.median(lambda: os.listdir(world.mount_point), repeat=20)
        tool("ls", "-l", world.mount_point)
        resident = int(open(process + "/statm").read().split()[1]) * 4
        time.sleep(3)
        switches = lambda: sum(int(line.split()[1]) for task in os.listdir(process + "/task")
                               for line in open(f"{process}/task/{task}/status") if "ctxt_switches" in line)
        before = switches()
        time.sleep(5)
        wakes = switches() - before
        fact("1,000 scripted sandboxes: mount", seconds(mounted), "-", True, f"{names} names")
        fact("… first ls of the root", seconds(first), "20 ms", first <= 0.02, f"then {seconds(again)}")
        fact("… idle for 5 s", f"{wakes} context switches", "0", wakes == 0)
        fact("… memory after ls -l", f"{resident / max(names, 1):.1f} KiB a sandbox", "64 KiB", resident / max(names, 1) <= 64, f"{resident} KiB in all")


def main():
    version = subprocess.run(["docker", "version", "-f", "{{.Server.Version}}"], capture_output=True, text=True, timeout=30).stdout.strip()
    print(f"{engine} {version}, {time.strftime('%Y-%m-%d %H:%M')}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, medians of {repeat}\n")
    print("| row | sbxfs | rival | ratio | target | verdict | note |\n|---|---|---|---|---|---|---|")
    small, rows = None, {"small": cold_small, "warm": warm_small, "many": many_small, "listing": big_listing, "giga": None, "eight": eight_readers,
                         "in": uploads, "copies": copies, "paced": paced, "thousand": thousand}
    failed = 0
    for name, action in rows.items():
        if chosen and name not in chosen:
            continue
        try:
            if name == "small":
                small = action()
            elif name == "giga":
                gigabyte(small)
            else:
                action()
        except Exception as problem:  # a row that cannot be measured is said, the others go on
            failed += 1
            print(f"| {name} | not measured | {problem} |", flush=True)
            world.unmount()
    world.unmount()  # which is when the last daemon's peak is noted
    fact("peak memory of the daemon, all rows", f"{world.peak_kib / 1024:.1f} MiB", "64 MiB", world.peak_kib <= 65536)
    return failed


try:
    status = main()
finally:
    world.close()
sys.exit(1 if status else 0)
