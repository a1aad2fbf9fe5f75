"""Scenarios: small files that say which answers of the scripted engine go wrong, and what a caller must then be told.

  # what this is about
  match GET */archive*        method and glob on the decoded target, with or without its version; a new match begins another rule
  times 1                     how often (default 1, all: always, at least once)
  after PUT */archive*        only once such a request has come
  fault cut 100               see fault_of in faults.py; $at is replaced when the scenario says `every`
  never                       instead of a fault: such a request must not come
  only mount                  the rule is for one of the two ways (library, mount); through the other it must not be used
  every 0 end 97              the whole scenario once for each $at of this range; end: the length of the answer that is cut
  late                        through a mount the rules begin once it serves, and then the event stream ends: it lists again
  between replace             what happens between the first time and the second (a word of the engine's control)
  sandboxes 1000              how many there are (1)
  paused                      by somebody else, from the start; then the sandbox must stay so, else it must run at the end
  set out/f size 99999999999  changes a node of the tree; the path is relative to the work dir
  file in/big 1200000         another one, of so many bytes, and its directory
  dir in/d                    an empty directory
  volume out/d                lies on one
  image out/f                 came with the image: the engine does not name it among the changes
  outputs out/ a/f            what is declared (out/)
  guest lacks chmod touch     commands that its image does not have
  guest denies                what they are asked for
  guest cuts                  the fraction of a second: its touch takes none
  guest lies                  its commands succeed and have done nothing
  guest misplaces             what it renames: that is then below a directory of the new name
  swap in/d                   a link instead of a directory, in the mount after it was looked at
  option max_frozen_bytes=9   of the plane and of the mount
  op read out/f               a word of OPS with its path
  expect EIO [ETIMEDOUT …]    any of these; OK is success
  then OK                     what the same operation gives next (default OK; - : is not asked)
  says TEXT                   what the first failure's sentence must contain (through the library)
  gives 0                     of a read that fails: at most so many bytes are handed out before (through the library)
  leaves in/new               what a failed operation may leave, whole or in part; else it must leave the tree as it was
  mount [EIO …]               also through a mount, which gives these where it is not as above
  mount-then OK               likewise of the next
  reason freeze=never         in info.json's freeze.reason after the first operation; gone again when the second is OK
  mount-options freeze=never  of the mount, beside its deadline
  mount-only                  not through the library
  command ls 8                also by the command: its exit code, and one line that contains what `says` says
  most archive_gets 1         of the mount's counters (.sbxfs/stats.json): no more than this
  audit 1                     so many lines the first operation adds to the audit, either way
  memory 20                   in MB, at most, that the driver or the daemon may have had at its highest (default 20)
  deadline 2000               of the operation, in ms (default 2000)
"""
import os, shlex

from faults import BODIES, EVENTS, STATS, TARS, Rule, fault_of, tar_of  # the fuzz corpus takes the tables from here

LIBRARY, MOUNT, COMMAND = "library", "mount", "command"
BOTH = (LIBRARY, MOUNT)
OPS = {  # and what each is done through
    **dict.fromkeys(("stat", "list", "read", "put", "chmod", "utimens", "remove", "rmdir", "mkdir"), BOTH),
    "rename": BOTH,  # PATH to PATH.to
    "walk": BOTH,  # lists and reads all below PATH; the library only lists
    "put-new": (LIBRARY,),  # replaces nothing
    "put-many": (LIBRARY,),  # PATH/0 to PATH/11 in one upload, the second time PATH/12 to PATH/23
    "put-ten": (LIBRARY,),  # PATH/0 to PATH/9 in one upload, the same ones the second time
    "tree": (LIBRARY,),  # the files below PATH by one archive; `whole` is in `seen` where nothing is left to be read by itself
    "sandboxes": BOTH,  # who is there
    "inspect": BOTH,  # one of them; a mount: who is there, within its retry
    "follow": (MOUNT,),  # a sandbox comes and goes, and the mount shows it
}
NEVER = ("status", 500, b'{"message":"this was not to be asked"}\n', "application/json")


class Scenario:
    def __init__(self, path):
        self.path, self.parts, self.sets = path, [], []
        self.paused, self.late, self.most, self.guest, self.files = False, False, [], [], []
        self.dirs, self.volumes, self.images, self.outputs = [], [], [], ["out/"]
        self.swap, self.audit, self.between, self.option, self.says, self.gives = None, None, None, None, None, None
        self.leaves, self.command, self.memory = [], None, 20
        self.sandboxes, self.mount_expect, self.mount_then, self.mount_options, self.reason = 1, [], [], [], None
        self.op, self.expect, self.then, self.deadline, self.every = None, None, ["OK"], 2000, None
        self.through_library, self.through_mount = True, False

    @property
    def restarts(self):
        return any(part["fault"][0] in ("replace", "restart") for part in self.parts)

    def rules(self, parameters):
        return [Rule(p["match"], p["times"], p["after"], NEVER if p["never"] else fault_of(p["fault"], parameters)) for p in self.parts]

    def prepare(self, engine):
        engine.paused = set(engine.names) if self.paused else set()
        for number in range(1, self.sandboxes):
            engine.names["%064x" % number] = f"box{number}"
        for path, size in self.files:
            engine.tree.setdefault(os.path.dirname("/work/" + path), type(engine.tree["/"])("dir", mode=0o755))
            engine.tree["/work/" + path] = type(engine.tree["/"])(content=b"x" * int(size))
        for path in self.dirs:
            engine.tree["/work/" + path] = type(engine.tree["/"])("dir", mode=0o755)
        engine.volumes = ["/work/" + path for path in self.volumes]
        engine.image = {"/work/" + path for path in self.images}
        engine.outputs = self.outputs
        for word, *rest in self.guest:
            setattr(engine, word, set(rest) or True)
        for path, key, value in self.sets:
            node = engine.tree[os.path.normpath("/work/" + path)]
            setattr(node, key, int(value) if value.lstrip("-").isdigit() else value)

    def instances(self, end, step=1):
        """The offsets; end: the length of the whole answer, whose last byte is always missing once."""
        start, last, stride = self.every
        end = end - int(last[4:] or 0) if last.startswith("end") else int(last)
        return sorted({*range(int(start), end, max(1, int(stride) // step)), end - 1})


def part_word(part, key, rest):
    if key == "times":
        part["times"] = 0 if rest[0] == "all" else int(rest[0])
    elif key == "after":
        part["after"] = " ".join(rest)
    elif key == "fault":
        part["fault"] = rest
    elif key == "never":
        part.update(never=True, times=0)
    elif key == "only":
        part["only"] = rest[0]
    else:
        return False
    return True


def word(made, key, rest):
    if key == "match":
        made.parts.append({"match": " ".join(rest), "times": 1, "after": None, "fault": ["none"], "never": False, "only": None})
    elif key in ("leaves", "op", "expect", "then", "outputs"):
        setattr(made, key, rest)
    elif key == "every":
        made.every = tuple(rest)
    elif key in ("set", "file"):
        getattr(made, key + "s").append(rest)
    elif key in ("dir", "volume", "image"):
        getattr(made, key + "s").append(rest[0])
    elif key == "guest":
        made.guest.append(rest)
    elif key == "swap":
        made.swap = "/work/" + rest[0]
    elif key in ("paused", "late"):
        setattr(made, key, True)
    elif key in ("sandboxes", "deadline", "audit", "gives", "memory"):
        setattr(made, key, int(rest[0]))
    elif key in ("between", "option"):
        setattr(made, key, rest[0])
    elif key in ("says", "reason"):
        setattr(made, key, " ".join(rest))
    elif key == "mount-options":
        made.mount_options = rest
    elif key == "command":
        made.command = rest[:-1], int(rest[-1])
    elif key in ("mount", "mount-only"):
        made.through_mount, made.mount_expect = True, rest
        made.through_library = key == "mount" and made.through_library
    elif key == "most":
        made.most.append((rest[0], int(rest[1])))
    elif key == "mount-then":
        made.mount_then = rest
    else:
        return False
    return True


def load(path):
    made = Scenario(path)
    for line in open(path):
        words = shlex.split(line, comments=True)
        if words and not (made.parts and part_word(made.parts[-1], words[0], words[1:])) and not word(made, words[0], words[1:]):
            raise SystemExit(f"{path}: unknown word {words[0]}")
    if not made.op or not made.expect:
        raise SystemExit(f"{path}: no op or no expect")
    ways = OPS.get(made.op[0], ())
    if made.through_library and LIBRARY not in ways or made.through_mount and MOUNT not in ways:
        raise SystemExit(f"{path}: no such operation {made.op[0]}")
    return made
