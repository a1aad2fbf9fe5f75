"""Runs the scenarios; see scenario.py. One verdict a scenario and way with what was answered, then the counts."""
import glob, multiprocessing, os, shutil, sys, tempfile, traceback

import checks, scenario, way_command, way_library, way_mount
from process import HERE, SLOW, WRAP

WAYS = {scenario.LIBRARY: way_library.run, scenario.MOUNT: way_mount.run, scenario.COMMAND: way_command.run}
build, step, chosen = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
counts = {"ok": 0, "FAIL": 0, "skip": 0}
MOUNTED = 40  # offsets of a scenario, at most, in the long form
WHOLE = 1 << 30  # an offset behind the end of every answer


def verdict(word, name, why=""):
    counts[word] += 1
    print(f"{word} {name}{': ' + why if why else ''}", flush=True)


def patience_ms(made):
    """The operation's deadline. Where no timeout is expected a crowded machine must not make one."""
    return SLOW * made.deadline * (1 if "ETIMEDOUT" in made.expect + made.mount_expect else 5)


def one_way(made, way, parameters):
    """Results or what was wrong, in a directory of its own; and the engine's last state."""
    memory_mb = made.memory if SLOW == 1 and not WRAP else None  # a sanitizer's and valgrind's own is not ours
    directory = tempfile.mkdtemp(prefix="sbxfs-fault.", dir="/var/tmp")
    try:
        return WAYS[way](made, parameters, directory, build, patience_ms(made), memory_mb)
    except Exception as failure:  # a bug of the test, or an engine that did not start: a failure of this scenario only
        return f"{traceback.format_tb(failure.__traceback__)[-1]!r} {failure!r}", None
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def try_one(job):
    path, way, parameters = job
    made, name = scenario.load(path), os.path.basename(path)
    label = f"{name}{'@' + parameters['at'] if parameters else ''}/{way}"
    if way == scenario.MOUNT and not (os.access("/dev/fuse", os.W_OK) and os.access(os.path.join(build, "tools/sbxfs"), os.X_OK)):
        return "skip", label, "no /dev/fuse, or sbxfs is not built"
    # Deadlines of two seconds meet a busy machine: what fails is tried once more, as every suite does, and says so.
    for left in range(int(os.environ.get("SBXFS_TEST_TRIES", "1")) - 1, -1, -1):
        why, state = one_way(made, way, parameters)
        unfired = isinstance(why, list) and checks.fired(made, way, state)
        if isinstance(why, list) and not unfired:
            return "ok", label, ", then ".join(why)
        if left:
            label += " (second try)"
    return "FAIL", label, unfired or why


def measured(path):
    """The length of the answer that is cut, by running the scenario with the cut behind its end; then all of it is right."""
    whole = scenario.load(path)
    if not whole.every:
        return 0
    whole.expect = whole.then = ["OK"]
    why, state = one_way(whole, scenario.LIBRARY, {"at": str(WHOLE)})
    return max(rule["length"] for rule in state["rules"]) if isinstance(why, list) else f"not cut it gives no success: {why}"


def jobs(path, length):
    made = scenario.load(path)
    instances = [{"at": str(at)} for at in made.instances(length, step)] if made.every else [{}]
    if made.through_library:
        for parameters in instances:
            yield path, scenario.LIBRARY, parameters
    if made.command:
        yield path, scenario.COMMAND, instances[0]
    if made.through_mount:  # which takes seconds: one offset in the short form, some of them in the long one
        for parameters in instances[::1 + len(instances) // MOUNTED] if step > 1 else instances[:1]:
            yield path, scenario.MOUNT, parameters


def main():
    paths = chosen or sorted(glob.glob(os.path.join(HERE, "scenarios", "*")))
    for path in paths:
        scenario.load(path)  # what cannot be read is told before anything runs
    with multiprocessing.Pool(2 if WRAP else 8) as pool:  # they mostly wait
        todo = []
        for path, length in zip(paths, pool.map(measured, paths)):
            if isinstance(length, str):
                verdict("FAIL", os.path.basename(path), length)
            else:
                todo += jobs(path, length)
        for word, label, why in pool.imap(try_one, todo):
            verdict(word, label, why)
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    return 1 if counts["FAIL"] or not counts["ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
