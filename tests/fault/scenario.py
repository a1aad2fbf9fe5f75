"""Scenarios: small files that say which answers of the scripted engine go wrong, and what a caller must then be told.

  # what this is about
  match GET */archive*        method and glob on the decoded target; a new match begins another rule
  times 1                     how often (default 1, all: always)
  after PUT */archive*        only once such a request has come
  fault cut 100               see FAULTS below; $at is replaced when the scenario says `every`
  every 0 2600 97             the whole scenario once for each $at of this range
  sandboxes 1000              how many there are (1)
  paused                      by somebody else, from the start
  runs                        the sandbox must, once the driver has ended (through the library only)
  set out/f size 99999999999  changes a node of the tree
  file in/big 2000000         another one, of so many bytes, and its directory
  guest lacks chmod touch     commands that its image does not have
  guest denies                what they are asked for
  guest cuts                  the fraction of a second: its touch takes none
  swap in/d                   a link instead of a directory, in the mount after it was looked at
  op read out/f               stat, list, read, put, put-new, chmod, utimens, remove, mkdir PATH; rename PATH (to PATH.to); walk PATH (lists and reads all below); sandboxes; inspect; watch
  expect EIO [ETIMEDOUT …]    any of these; OK is success
  then OK                     what the same operation gives next (default OK; - : is not asked)
  mount [EIO …]               also through a mount, which gives these where it is not as above
  mount-then OK               likewise of the next
  reason freeze=never         in info.json's freeze.reason after the first operation; gone again when the second is OK
  mount-options freeze=never  of the mount, beside its deadline
  audit 1                     so many lines the first operation adds to the audit, either way
  deadline 2000               of the operation, in ms (default 2000)
"""
import os, shlex

from faults import BODIES, EVENTS, STATS, TARS, fault_of, tar_of  # the fuzz corpus takes them from here as well


class Scenario:
    def __init__(self, path):
        self.path, self.parts, self.sets = path, [], []
        self.paused, self.runs, self.most, self.guest, self.files = False, False, [], [], []
        self.swap, self.audit, self.reason = None, None, None
        self.sandboxes, self.mount_expect, self.mount_then, self.mount_options = 1, [], [], []
        self.op, self.expect, self.then, self.through_mount, self.deadline, self.every = None, None, ["OK"], False, 2000, None

    def rules(self, parameters):
        return [(p["match"], p["times"], p["after"], fault_of(p["fault"], parameters)) for p in self.parts]

    def prepare(self, engine):
        engine.paused = self.paused
        for number in range(1, self.sandboxes):
            engine.names["%064x" % number] = f"box{number}"
        for path, size in self.files:
            engine.tree.setdefault(os.path.dirname("/work/" + path), type(engine.tree["/"])("dir", mode=0o755))
            engine.tree["/work/" + path] = type(engine.tree["/"])(content=b"x" * int(size))
        for word, *rest in self.guest:
            setattr(engine, word, set(rest) or True)
        for path, key, value in self.sets:
            node = engine.tree["/work/" + path]
            setattr(node, key, int(value) if value.lstrip("-").isdigit() else value)

    def instances(self, step=1):
        if not self.every:
            return [{}]
        start, end, stride = self.every
        return [{"at": str(i)} for i in range(start, end, max(1, stride // step))]


def load(path):
    made = Scenario(path)
    for line in open(path):
        words = shlex.split(line, comments=True)
        if not words:
            continue
        key, rest = words[0], words[1:]
        if key == "match":
            made.parts.append({"match": " ".join(rest), "times": 1, "after": None, "fault": ["none"]})
        elif key == "times":
            made.parts[-1]["times"] = 0 if rest[0] == "all" else int(rest[0])
        elif key == "after":
            made.parts[-1]["after"] = " ".join(rest)
        elif key == "fault":
            made.parts[-1]["fault"] = rest
        elif key == "every":
            made.every = tuple(int(w) for w in rest)
        elif key == "set":
            made.sets.append(rest)
        elif key == "file":
            made.files.append(rest)
        elif key == "guest":
            made.guest.append(rest)
        elif key == "swap":
            made.swap = "/work/" + rest[0]
        elif key == "audit":
            made.audit = rest[0]
        elif key == "reason":
            made.reason = " ".join(rest)
        elif key == "paused":
            made.paused = True
        elif key == "runs":
            made.runs = True
        elif key == "sandboxes":
            made.sandboxes = int(rest[0])
        elif key == "op":
            made.op = rest
        elif key == "expect":
            made.expect = rest
        elif key == "then":
            made.then = rest
        elif key == "mount":
            made.through_mount, made.mount_expect = True, rest
        elif key == "most":
            made.most.append((rest[0], int(rest[1])))
        elif key == "mount-then":
            made.mount_then = rest
        elif key == "mount-options":
            made.mount_options = rest
        elif key == "deadline":
            made.deadline = int(rest[0])
        else:
            raise SystemExit(f"{path}: unknown word {key}")
    if not made.op or not made.expect:
        raise SystemExit(f"{path}: no op or no expect")
    return made
