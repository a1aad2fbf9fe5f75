"""The operations of scenarios as system calls on a mount: each returns the name of its errno, and what it saw."""
import errno, hashlib, json, os, signal, stat, time


def digest(data):
    return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def see(path):
    """Links and special files are shown as files without a mode: of those nothing is said."""
    st = os.stat(path)
    if not st.st_mode & 0o777:
        return {}
    kind = "directory" if stat.S_ISDIR(st.st_mode) else "file"
    return {"type": kind, "size": st.st_size, "mtime": st.st_mtime_ns // 10**9, "ns": st.st_mtime_ns % 10**9}


def names(base):
    return sorted(name for name in os.listdir(base) if not name.startswith("."))


def read(path, seen):
    data = b""
    try:
        with open(path, "rb", buffering=0) as file:
            while part := file.read(65536):
                data += part
    finally:
        seen.update(digest(data))


def walk(path, seen, prefix):
    """What a tool does with a whole tree."""
    for entry in os.scandir(path):
        name = prefix + "/" + entry.name
        if entry.is_dir():
            walk(entry.path, seen, name)
        elif entry.stat().st_mode & 0o777:
            with open(entry.path, "rb") as file:
                seen.setdefault("files", {})[name] = hashlib.sha256(file.read()).hexdigest()


def set_and_see(path, what, seen):
    """Changes mode or time; the stat afterwards must say so at once. CUT: without the fraction of the second."""
    was = os.stat(path)
    if what == "chmod":
        os.chmod(path, was.st_mode ^ 0o040)
        seen.update(see(path))
        return "OK" if os.stat(path).st_mode == was.st_mode ^ 0o040 else "WRONG"
    wanted = was.st_mtime_ns // 1000 * 1000 + 1_000_002_000  # the microseconds that every engine keeps
    os.utime(path, ns=(wanted, wanted))
    seen.update(see(path))
    now = os.stat(path).st_mtime_ns
    return "OK" if now == wanted else "CUT" if now == wanted // 10**9 * 10**9 else "WRONG"


def put(path):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(fd, b"written\n")
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)


def until_there(base, wanted, seconds, known=("box",)):
    """Waits until these are the sandboxes there. One that never was is told at once, and so is a time that was too long."""
    end = time.time() + seconds
    while (there := names(base)) != wanted:
        if not set(there) <= {*known, *wanted}:
            return "PHANTOM"
        if time.time() > end:
            return "ABSENT"
        time.sleep(0.02)
    return "OK"


def follow(base, engine, seen, seconds):
    """A sandbox comes and goes: it is there and readable, then it is not, and box is all the time."""
    result = until_there(base, ["box"], seconds)
    for word, wanted in (("create?name=new", ["box", "new"]), ("destroy?name=new", ["box"])):
        if result == "OK":
            engine.ask(word)
            result = until_there(base, wanted, seconds, ("box", "new"))
        if result == "OK":
            for name in wanted:
                read(os.path.join(base, name, "out/f"), seen)
                if seen["bytes"] != 15:
                    return "WRONG"
    seen["names"] = names(base)
    return result


def operate(base, op, engine, wait, before=None):
    """before: done when the path has been looked at. wait: seconds for what the mount learns by itself."""
    path, seen, result = os.path.join(base, "box", (op + [""])[1]), {}, None
    try:
        if before:
            os.path.exists(path)
            before()
        if op[0] in ("chmod", "utimens"):
            result = set_and_see(path, op[0], seen)
        elif op[0] == "remove":
            os.unlink(path)
        elif op[0] == "rmdir":
            os.rmdir(path)
        elif op[0] == "rename":
            os.rename(path, path + ".to")
        elif op[0] == "mkdir":
            os.mkdir(path)
        elif op[0] == "stat":
            seen = see(path)
        elif op[0] == "list":
            seen["entries"] = {name: see(os.path.join(path, name)) for name in names(path)}
        elif op[0] in ("sandboxes", "inspect"):
            result = until_there(base, engine.state()["names"], wait)
            seen["names"] = names(base)
        elif op[0] == "follow":
            result = follow(base, engine, seen, wait)
        elif op[0] == "read":
            read(path, seen)
        elif op[0] == "walk":
            walk(path, seen, op[1])
        elif op[0] == "put":
            put(path)
        else:
            raise SystemExit(f"no such operation {op[0]}")
    except OSError as failure:
        return errno.errorcode.get(failure.errno, str(failure.errno)).replace("ENOTSUP", "EOPNOTSUPP"), seen
    return result or "OK", seen


def bounded(function, seconds):
    """What function gives, with the seconds it took, from a child that can be abandoned: a hanging system call must not hang us."""
    reader, writer = os.pipe()
    child, start = os.fork(), time.time()
    if child == 0:
        os.close(reader)
        try:
            text = json.dumps(function()).encode()
        except Exception as failure:  # a bug of ours, told as such
            text = json.dumps([repr(failure), {}]).encode()
        with os.fdopen(writer, "wb") as file:
            file.write(text)
        os._exit(0)
    os.close(writer)
    while not os.waitpid(child, os.WNOHANG)[0]:
        if time.time() > start + seconds:
            os.kill(child, signal.SIGKILL)
            os.close(reader)
            return ["HANGS", {}], seconds
        time.sleep(0.005)
    with os.fdopen(reader, "rb") as file:
        return json.loads(file.read()), time.time() - start
