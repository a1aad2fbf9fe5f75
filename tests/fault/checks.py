"""What a scenario's operation must have seen and left, by the engine's own state; each check returns a text of what is wrong, or ""."""
import hashlib, posixpath


def one_of(what, got, wanted):
    return "" if got in wanted or wanted == ["-"] else f"{what} gave {got}, wanted {' or '.join(wanted)}"


def in_time(made, result, ms, deadline_ms, late_ms, share=1.0):
    """A timeout comes at the deadline. Where none is expected that is five times the scenario's, of which a share must do."""
    if result == "ETIMEDOUT" and ms < deadline_ms * 0.9:
        return f"timed out after {ms:.0f} ms, the deadline is {deadline_ms}"
    most = deadline_ms if "ETIMEDOUT" in made.expect + made.mount_expect else deadline_ms * share
    return f"took {ms:.0f} ms, at most {most + late_ms:.0f}" if ms > most + late_ms else ""


def children(tree, path):
    return {posixpath.basename(p): node for p, node in tree.items() if p != path and posixpath.dirname(p) == path}


def differs(what, seen, node):
    """Of what was seen of a node, each thing that both know. A listing by an archive knows the time to the second."""
    kinds = {"directory": "dir", "symlink": "link"}
    if kinds.get(seen.get("type"), seen.get("type", node["kind"])) != node["kind"]:
        return f"{what} is seen as {seen['type']}"
    keys = ["mtime", "sha256"] + ["ns"] * (seen.get("ns", -1) >= 0) + ["size"] * (node["kind"] == "file")
    wrong = [f"{key} {seen[key]}, not {node[key]}" for key in keys if key in seen and seen[key] != node[key]]
    return f"{what} is seen with {', '.join(wrong)}" if wrong else ""


def seen_right(made, result, seen, before, after, content):
    """What an operation saw, by the state after it; what it began before the engine was replaced, by that of before, too."""
    why = sees(made, result, seen, after, content)
    if not why or before["replaced"] == after["replaced"]:
        return why
    return sees(made, result, seen, before, content)


def sees(made, result, seen, state, content):
    """What one that succeeded saw; of a read that failed, that what it gave is where the file begins. content: gives a path's bytes."""
    op, path = made.op[0], posixpath.normpath("/work/" + (made.op + [""])[1])
    if op == "read" and result != "OK" and seen.get("bytes"):
        start = hashlib.sha256(content(path)[:seen["bytes"]]).hexdigest()
        return "" if start == seen["sha256"] else f"the {seen['bytes']} bytes before {result} are not the file's"
    if result not in ("OK", "CUT"):
        return ""
    if op in ("read", "stat", "chmod", "utimens"):
        return differs(path, seen, state["tree"][path]) or ("" if seen else "nothing was seen")
    if op == "list" or op == "walk" and "entries" in seen:
        there = children(state["tree"], path)
        if sorted(there) != sorted(seen["entries"]):
            return f"{path} lists {sorted(seen['entries'])}, not {sorted(there)}"
        return next((why for name, entry in seen["entries"].items() if (why := differs(name, entry, there[name]))), "")
    if op == "walk":
        files = {p: n["sha256"] for p, n in state["tree"].items() if p.startswith(path + "/") and n["kind"] == "file"}
        return "" if {"/work/" + p: digest for p, digest in seen["files"].items()} == files else f"{path} was read as {seen}"
    if op == "tree":
        small = {p[6:]: n["sha256"] for p, n in state["tree"].items() if p.startswith(path + "/") and n["kind"] == "file"}
        wrong = [name for name, entry in seen["files"].items() if small.get(name) != entry["sha256"]]
        missing = seen["whole"] and sorted({*small} - {*seen["files"]} - {n for n in small if any(n.startswith(v + "/") for v in made.volumes)})
        return f"{wrong} are not as they are, {missing} are missing" if wrong or missing else ""
    if op in ("sandboxes", "inspect", "follow"):
        if "names" in seen:
            return "" if seen["names"] == state["names"] else f"there are {state['names']}, and {seen['names']} were seen"
        return "" if (seen["name"], seen["state"]) == ("box", "running") and set(seen["id"]) <= set("abcd") else f"seen was {seen}"
    return ""


def written(now):
    """A file that was put. Its time is its own."""
    return {"kind": "file", "mode": 0o644, "size": 8, "sha256": hashlib.sha256(b"written\n").hexdigest(), "uid": 1000, "target": "",
            "mtime": now.get("mtime"), "ns": now.get("ns")}


def wanted_tree(made, tree, after):
    """What a success makes of the tree. Times that a put or mkdir gives are its own."""
    op, path = made.op[0], "/work/" + (made.op + [""])[1]
    tree = dict(tree)
    new = after.get(path, {})
    if op in ("put", "put-new"):
        tree[path] = written(new)
    elif op == "put-many":
        start = 12 if f"{path}/11" in tree else 0
        tree.update({each: written(after.get(each, {})) for each in (f"{path}/{i}" for i in range(start, start + 12))})
    elif op == "mkdir":
        tree[path] = {"kind": "dir", "mode": 0o755, "size": 0, "sha256": hashlib.sha256(b"").hexdigest(), "uid": 1000, "target": "",
                      "mtime": new.get("mtime"), "ns": new.get("ns")}
    elif op == "chmod" and path in tree:
        tree[path] = dict(tree[path], mode=tree[path]["mode"] ^ 0o040)
    elif op == "utimens" and path in tree:  # to which one: `seen` says the same
        tree[path] = dict(tree[path], mtime=tree[path]["mtime"] + 1, ns=new.get("ns"))
    elif op == "put-ten":
        if path not in tree and path in after:
            tree[path] = dict(after[path], kind="dir", mode=0o755, uid=1000)
        tree.update({each: written(after.get(each, {})) for each in (f"{path}/{i}" for i in range(10))})
    elif op in ("remove", "rmdir"):
        tree.pop(path, None)
    elif op == "rename" and path in tree:
        tree[path + ".to"] = tree.pop(path)
    return tree


def left_right(made, result, before, after, may_land=False):
    """The tree after an operation. may_land: a mount keeps what could not be sent, and sends it again on its own; to that sandbox."""
    was, now = dict(before["tree"]), dict(after["tree"])
    if after["replaced"] and before["replaced"] != after["replaced"]:
        was = dict(after["replaced"])
    for path in [made.swap] * bool(made.swap):
        was[path] = now[path] = None
    wanted = [wanted_tree(made, was, now)] if result in ("OK", "CUT") else [was]
    if result not in ("OK", "CUT"):
        wanted += [wanted_tree(made, was, now)] * (may_land and not after["replaced"])
        for path in made.leaves:
            was["/work/" + path] = now["/work/" + path] = None
    for path, rewritten in (("/work/" + (made.op + [""])[1], p["fault"] == ["rewrite"]) for p in made.parts):
        if rewritten:
            was[path] = wanted[0][path] = now[path]
    if now in wanted:
        return ""
    return "in the engine after " + result + " " + ", ".join(
        f"{p} is {now.get(p)}, not {wanted[0].get(p)}" for p in sorted({*now, *wanted[0]}) if now.get(p) != wanted[0].get(p))


def fired(made, way, state):
    """Every rule must have been used, and an edit must have changed something. What ended by a rule, `die`, has used it."""
    for part, rule in zip(made.parts, state["rules"] if state else []):
        name = f"the rule for {part['match']}"
        if part["never"] or part["only"] not in (None, way):
            if rule["used"]:
                return f"{name} was used"
        elif rule["used"] < max(1, part["times"]):
            return f"{name} was used {rule['used']} times"
        elif not rule["changed"]:
            return f"{name} changed nothing"
    return ""


def settled(made, state):
    """At the end the sandbox runs, or is still paused by who paused it, and no container of ours is left."""
    if state and any(name.startswith("sbxfs-probe-") for name in state["names"]):
        return "a container that was made to see the image is left"
    if state and state["paused"] != made.paused and not state["replaced"]:
        return "the sandbox is left paused" if state["paused"] else "somebody else's pause was ended"
    return ""
