"""Runs the scenarios; see scenario.py. One verdict a scenario and way with what was answered, then the counts. Every process has a
bound; a function returns the two errnos that it got, or a text of what was wrong with them."""
import errno, glob, http.client, json, multiprocessing, os, shutil, signal, socket, subprocess, sys, tempfile, time

import scenario

HERE = os.path.dirname(os.path.abspath(__file__))
WRAP = os.environ.get("FAULT_WRAP", "").split()  # before each of our programs, as valgrind is
SLOW = int(os.environ.get("SBXFS_TEST_SLOW", "1"))  # sanitizers and memcheck
build, step, chosen = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
counts = {"ok": 0, "FAIL": 0, "skip": 0}


def verdict(word, name, why=""):
    counts[word] += 1
    print(f"{word} {name}{': ' + why if why else ''}", flush=True)


class Engine:
    def __init__(self, path, parameters, directory):
        self.socket = os.path.join(directory, "s")
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "engine.py"), self.socket, path, *parameters],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.process.stdout.readline()

    def paused(self):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(10)
            sock.connect(self.socket)
            sock.sendall(b"GET /containers/box/json HTTP/1.1\r\n\r\n")
            answer = b""
            while b"}\n" not in answer:
                answer += sock.recv(65536) or b"}\n"
        return b'"Paused": false' not in answer

    def swap(self, path):
        connection = http.client.HTTPConnection("engine")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self.socket)
        connection.request("POST", "/_swap?path=" + path)
        assert connection.getresponse().status == 200

    def stop(self):
        self.process.kill()
        self.process.wait()


def environment(directory):
    runtime = os.path.join(directory, "runtime")
    os.makedirs(runtime, mode=0o700, exist_ok=True)
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS")}
    return dict(keep, HOME=directory, XDG_RUNTIME_DIR=runtime, XDG_STATE_HOME=directory, XDG_CACHE_HOME=directory, SBXFS_RUNTIME_DIR=runtime)


def patience(made):
    """The operation's deadline. Where no timeout is expected a crowded machine must not make one."""
    return SLOW * made.deadline * (1 if "ETIMEDOUT" in made.expect + made.mount_expect else 5)


def check(what, got, wanted):
    return "" if got in wanted or wanted == ["-"] else f"{what} gave {got}, wanted {' or '.join(wanted)}"


def through_library(made, parameters, directory):
    engine = Engine(made.path, [f"{k}={v}" for k, v in parameters.items()], directory)
    try:
        if made.swap:
            engine.swap(made.swap)
        command = WRAP + [os.path.join(build, "tests/fault/driver"), "unix://" + engine.socket, {"walk": "list"}.get(made.op[0], made.op[0]), (made.op + [""])[1], str(patience(made))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30 * SLOW + patience(made) / 300, env=environment(directory), errors="replace")
        if made.runs and engine.paused():
            return "the sandbox is left paused"
    except subprocess.TimeoutExpired:
        return "hangs beyond every deadline"
    finally:
        engine.stop()
    lines = [line.split(" ", 4) for line in done.stdout.splitlines()]
    if done.returncode or len(lines) != 2:
        return f"the driver ended with {done.returncode}: {done.stderr[-300:]!r}"
    if int(lines[0][2]) > patience(made) + 3000:
        return f"took {lines[0][2]} ms, the deadline is {patience(made)}"
    why = check("first", lines[0][0], made.expect) or check("then", lines[1][0], made.then)
    if made.audit:
        why = why or check("the audit's lines", lines[0][3], [made.audit])
    return f"{why} ({lines[0][4]} | {lines[1][4]})" if why else [lines[0][0], lines[1][0]]


def read_tree(path):
    """What a tool does with a whole tree. What is shown without a mode is refused on purpose."""
    for entry in os.scandir(path):
        if entry.is_dir():
            read_tree(entry.path)
        elif entry.stat().st_mode & 0o777:
            with open(entry.path, "rb") as file:
                file.read()


def too_many(mount, most):
    """What of the mount's counters is above the scenario's bounds."""
    if not most:
        return ""
    with open(os.path.join(mount, ".sbxfs/stats.json")) as file:
        stats = json.load(file)
    counters = {**stats["engine"], **stats["freezes"], **stats["requests"]}
    return ", ".join(f"{counters[name]} {name}, at most {bound}" for name, bound in most if counters[name] > bound)


def audit_lines(mount):
    with open(os.path.join(mount, "box/.sbxfs/audit")) as file:
        return str(len(file.readlines()))


def freeze_reason(mount):
    with open(os.path.join(mount, "box/.sbxfs/info.json")) as file:
        return json.load(file)["freeze"].get("reason", "")


def wrong_reason(made, mount, answer):
    if made.reason is None:
        return ""
    reason = bounded(lambda: freeze_reason(mount), 8)
    good = reason == "" if answer == "OK" else made.reason in reason
    return "" if good else f"info.json gives the reason {reason!r} after {answer}"


def set_and_see(path, what):
    """Changes mode or time; the stat afterwards must say so at once. CUT: without the fraction of the second."""
    was = os.stat(path)
    if what == "chmod":
        os.chmod(path, was.st_mode ^ 0o040)
        return "OK" if os.stat(path).st_mode == was.st_mode ^ 0o040 else "WRONG"
    wanted = was.st_mtime_ns // 1000 * 1000 + 1_000_002_000  # the microseconds that every engine keeps
    os.utime(path, ns=(wanted, wanted))
    seen = os.stat(path).st_mtime_ns
    return "OK" if seen == wanted else "CUT" if seen == wanted // 10**9 * 10**9 else "WRONG"


def operate(base, op, before=None):
    """The operation as system calls, with the name of its errno. before: done when the path has been looked at."""
    path = os.path.join(base, "box", (op + [""])[1])
    try:
        if before:
            os.path.exists(path)
            before()
        if op[0] in ("chmod", "utimens"):
            return set_and_see(path, op[0])
        if op[0] == "remove":
            os.unlink(path)
        elif op[0] == "rename":
            os.rename(path, path + ".to")
        elif op[0] == "mkdir":
            os.mkdir(path)
        if op[0] == "stat":
            os.stat(path)
        elif op[0] in ("list", "sandboxes"):
            os.listdir(path if op[0] == "list" else base)
        elif op[0] == "read":
            with open(path, "rb", buffering=0) as file:
                while file.read(65536):
                    pass
        elif op[0] == "walk":
            read_tree(path)
        elif op[0] == "put":
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            try:
                os.write(fd, b"written\n")
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)
    except OSError as failure:
        return errno.errorcode.get(failure.errno, str(failure.errno)).replace("ENOTSUP", "EOPNOTSUPP")
    return "OK"


def bounded(function, seconds):
    """In a child, which can be abandoned: a hanging system call must not hang us."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, function().encode())
        os._exit(0)
    os.close(writer)
    end, text = time.time() + seconds, ""
    while time.time() < end:
        if os.waitpid(child, os.WNOHANG)[0]:
            text = os.read(reader, 4096).decode()
            break
        time.sleep(0.005)
    else:
        os.kill(child, signal.SIGKILL)
        text = "HANGS"
    os.close(reader)
    return text


def through_mount(made, parameters, directory):
    mount = os.path.join(directory, "mnt")
    os.makedirs(mount, exist_ok=True)
    engine = Engine(made.path, [f"{k}={v}" for k, v in parameters.items()], directory)
    log = open(os.path.join(directory, "mount.log"), "w+")
    daemon = subprocess.Popen(WRAP + [os.path.join(build, "tools/sbxfs"), "mount", "-f", "--engine", "unix://" + engine.socket, "-o",
                               ",".join([f"deadline={patience(made) / 1000:g}"] + made.mount_options), mount], stdout=log, stderr=log, env=environment(directory))
    try:
        end = time.time() + 10 * SLOW
        while not os.path.ismount(mount) and time.time() < end and daemon.poll() is None:
            time.sleep(0.02)
        if not os.path.ismount(mount):
            log.seek(0)
            return "the mount does not serve: " + log.read()[-200:]
        before = made.swap and (lambda: engine.swap(made.swap))
        first = bounded(lambda: operate(mount, made.op, before), patience(made) / 1000 + 8)
        audit = bounded(lambda: audit_lines(mount), 8) if made.audit else None
        over = bounded(lambda: too_many(mount, made.most), 8) or wrong_reason(made, mount, first)
        time.sleep(2.1 if first == "ENOENT" else 1.1)  # names are believed for a second, their absence for two
        second = bounded(lambda: operate(mount, made.op), patience(made) / 1000 + 8)
        if daemon.poll() is not None:
            return f"the daemon ended with {daemon.returncode}"
        over = over or wrong_reason(made, mount, second)
        why = over or check("the audit's lines", audit, [made.audit])
        why = why or check("first", first, made.mount_expect or made.expect) or check("then", second, made.mount_then or made.then)
        daemon.terminate()
        status = daemon.wait(30 * SLOW)
        if status:
            log.seek(0)
            return f"the daemon ended with {status}: {log.read()[-600:]}"
        return why or [first, second]
    except subprocess.TimeoutExpired:
        return "the daemon does not end"
    finally:
        daemon.terminate()
        try:
            daemon.wait(10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
        engine.stop()
        subprocess.run(["umount", "-l", mount], stderr=subprocess.DEVNULL, timeout=10)
        log.close()


def try_one(job):
    path, way, parameters = job
    made, name = scenario.load(path), os.path.basename(path)
    label = f"{name}{'@' + parameters['at'] if parameters else ''}/{way}"
    if way == "mount" and not (os.access("/dev/fuse", os.W_OK) and os.access(os.path.join(build, "tools/sbxfs"), os.X_OK)):
        return "skip", label, "no /dev/fuse, or sbxfs is not built"
    # Deadlines of two seconds meet a busy machine: what fails is tried once more, as every suite does, and says so.
    for left in range(int(os.environ.get("SBXFS_TEST_TRIES", "1")) - 1, -1, -1):
        directory = tempfile.mkdtemp(prefix="sbxfs-fault.", dir="/var/tmp")
        try:
            why = (through_mount if way == "mount" else through_library)(made, parameters, directory)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        if isinstance(why, list):
            return "ok", label, ", then ".join(why)
        if left:
            label += " (second try)"
    return "FAIL", label, why


def jobs():
    for path in chosen or sorted(glob.glob(os.path.join(HERE, "scenarios", "*"))):
        made = scenario.load(path)
        for parameters in made.instances(step):
            yield path, "library", parameters
        if made.through_mount:
            yield path, "mount", made.instances(step)[0]


def main():
    with multiprocessing.Pool(2 if WRAP else 6) as pool:  # they mostly wait
        for word, label, why in pool.imap(try_one, jobs()):
            verdict(word, label, why)
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    return 1 if counts["FAIL"] or not counts["ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
