"""A scenario through a mount: the operation twice as system calls; then how the daemon ends, and in what state the sandbox is."""
import json, os, subprocess, time

import checks
from mount_ops import bounded, operate, until_there
from process import SLOW, WRAP, Engine, environment, peak_mb

LATE_MS = 2500 * SLOW  # of a system call behind its deadline: a mount's timeouts were 40 to 1600 late on a crowded machine


def too_many(mount, most):
    """What of the mount's counters is above the scenario's bounds."""
    with open(os.path.join(mount, ".sbxfs/stats.json")) as file:
        stats = json.load(file)
    counters = {**stats["engine"], **stats["freezes"], **stats["requests"]}
    return ", ".join(f"{counters[name]} {name}, at most {bound}" for name, bound in most if counters[name] > bound)


def audit_lines(mount):
    with open(os.path.join(mount, "box/.sbxfs/audit")) as file:
        return len(file.readlines())


def freeze_reason(mount):
    with open(os.path.join(mount, "box/.sbxfs/info.json")) as file:
        return json.load(file)["freeze"].get("reason", "")


def wrong_reason(made, mount, result):
    if made.reason is None:
        return ""
    reason, _ = bounded(lambda: freeze_reason(mount.path), 8)
    good = reason == "" if result == "OK" else made.reason in reason
    return "" if good else f"info.json gives the reason {reason!r} after {result}"


class Mount:
    def __init__(self, made, engine, directory, build, deadline_ms):
        self.path = os.path.join(directory, "mnt")
        os.makedirs(self.path, exist_ok=True)
        self.log = open(os.path.join(directory, "mount.log"), "w+", errors="replace")
        options = [f"deadline={deadline_ms / 1000:g}", f"staging_dir={directory}/staging"] + [made.option] * bool(made.option) + made.mount_options
        self.daemon = subprocess.Popen(WRAP + [os.path.join(build, "tools/sbxfs"), "mount", "-f", "--engine", "unix://" + engine.socket,
                                               "-o", ",".join(options), self.path], stdout=self.log, stderr=self.log, env=environment(directory))

    def serves(self):
        end = time.time() + 10 * SLOW
        while not os.path.ismount(self.path) and time.time() < end and self.daemon.poll() is None:
            time.sleep(0.02)
        return os.path.ismount(self.path)

    def last_words(self):
        self.log.seek(0)
        return self.log.read()[-600:]

    def stop(self):
        self.daemon.terminate()
        try:
            self.daemon.wait(10)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        subprocess.run(["umount", "-l", self.path], stderr=subprocess.DEVNULL, timeout=10)
        self.log.close()


def begin_late(made, engine, mount):
    """The rules begin now, and the mount, which serves, must list again."""
    end = time.time() + 5 * SLOW
    bounded(lambda: until_there(mount.path, ["box"], 5 * SLOW), 10 * SLOW)
    engine.ask("arm?on=1")
    engine.ask("end-streams")
    while not engine.state()["rules"][0]["used"] and time.time() < end:
        time.sleep(0.02)


def swap_by_guest(path, engine):
    """A guest that is frozen swaps nothing: what was seen in a window is believed in it."""
    while engine.state()["paused"]:
        time.sleep(0.01)
    engine.ask("swap?path=" + path)


def turns(made, engine, mount, deadline_ms):
    """Both operations: a text of what was wrong, or the two results."""
    results, wait, states = [], 4 * SLOW, None
    for turn in range(2):
        states = [states and states[1], engine.state()]
        why = checks.left_right(made, "some time", *states, may_land=made.op[0] == "put") if all(states) else ""
        states = states[1:]
        swap = made.swap and turn == 0 and (lambda: swap_by_guest(made.swap, engine))
        (result, seen), seconds = bounded(lambda: operate(mount.path, made.op, engine, wait, swap), (deadline_ms + LATE_MS) / 1000 + 1)
        results.append(result)
        states.append(engine.state())
        if mount.daemon.poll() is not None:
            return f"the daemon ended with {mount.daemon.returncode}: {mount.last_words()}"
        why = why or checks.one_of("then" if turn else "first", result, (made.mount_then or made.then) if turn else (made.mount_expect or made.expect))
        if states[1]:
            why = why or checks.seen_right(made, result, seen, *states, lambda path: engine.ask("content?path=" + path))
            why = why or checks.left_right(made, result, *states, may_land=made.op[0] == "put")
        why = why or wrong_reason(made, mount, result)
        if turn == 0:
            why = why or checks.in_time(made, result, seconds * 1000, deadline_ms, LATE_MS)
            why = why or after_first(made, mount)
            if made.between:
                engine.ask(made.between)
        if why:
            return why
        if turn == 0:
            time.sleep(2.1 if result == "ENOENT" else 1.1)  # names are believed for a second, their absence for two
    return results


def after_first(made, mount):
    why = ""
    if made.audit is not None:
        why = checks.one_of("the audit's lines", bounded(lambda: audit_lines(mount.path), 8)[0], [made.audit])
    if made.most:
        why = why or bounded(lambda: too_many(mount.path, made.most), 8)[0]
    return why


def run(made, parameters, directory, build, deadline_ms, memory_mb):
    """Two results, or a text of what was wrong; and the engine's last state."""
    engine = Engine(made, [f"{k}={v}" for k, v in parameters.items()], directory)
    if made.late:
        engine.ask("arm?on=0")
    mount = Mount(made, engine, directory, build, deadline_ms)
    try:
        if not mount.serves():
            return "the mount does not serve: " + mount.last_words(), engine.state()
        if made.late:
            begin_late(made, engine, mount)
        why = turns(made, engine, mount, deadline_ms)
        memory = peak_mb(mount.daemon)
        if memory_mb and memory > memory_mb and not isinstance(why, str):
            why = f"the daemon took {memory:.0f} MB, at most {memory_mb}"
        last = engine.settled()
        mount.daemon.terminate()
        status = mount.daemon.wait(30 * SLOW)
        if status:
            return f"the daemon ended with {status}: {mount.last_words()}", last
        return (why if isinstance(why, str) else checks.settled(made, last) or why), last
    except subprocess.TimeoutExpired:
        return "the daemon does not end", None
    finally:
        mount.stop()
        engine.stop()
