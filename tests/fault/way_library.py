"""A scenario through the library: driver.c does the operation twice, and we look at the engine after each."""
import json, os, subprocess, tempfile

import checks
from process import SLOW, WRAP, Engine, Lines, environment, peak_mb


def run(made, parameters, directory, build, deadline_ms, memory_mb):
    """Two results, or a text of what was wrong; and the engine's last state."""
    engine = Engine(made, [f"{k}={v}" for k, v in parameters.items()], directory)
    errors = tempfile.TemporaryFile("w+", errors="replace")
    driver = None
    try:
        if made.swap:
            engine.ask("swap?path=" + made.swap)
        op = {"walk": "list"}.get(made.op[0], made.op[0])
        states = [engine.state()]
        driver = subprocess.Popen(WRAP + [os.path.join(build, "tests/fault/driver"), "unix://" + engine.socket, op, (made.op + [""])[1],
                                          str(deadline_ms), *([made.option] if made.option else [])],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment(directory))
        lines, answers = Lines(driver), []
        for turn in range(2):
            line = lines.next(deadline_ms / 1000 * (1 if turn == 0 else 4) + 10 * SLOW)
            if line is None:
                return "hangs beyond every deadline", states[-1]
            if not line:
                errors.seek(0)
                return f"the driver ended with {driver.wait()}: {errors.read()[-300:]!r}", states[-1]
            answers.append(json.loads(line))
            states.append(engine.state())
            why = judge(made, answers, states, engine, deadline_ms)
            if why:
                return why, states[-1]
            memory = peak_mb(driver)
            if turn == 0 and made.between:
                engine.ask(made.between)
            if turn == 0 and (made.between or made.restarts):  # which may come with the resume that ends the window
                states[-1] = engine.settled()
            driver.stdin.write(b"\n")
            driver.stdin.flush()
        status = driver.wait(30 * SLOW)
        last = engine.settled()
        if status:
            errors.seek(0)
            return f"the driver ended with {status}: {errors.read()[-300:]!r}", last
        if memory_mb and memory > memory_mb:
            return f"the driver took {memory:.0f} MB, at most {memory_mb}", last
        return checks.settled(made, last) or [answers[0]["result"], answers[1]["result"]], last
    except subprocess.TimeoutExpired:
        return "the driver does not end", None
    finally:
        if driver:
            driver.kill()
            driver.wait()
        engine.stop()
        errors.close()


def judge(made, answers, states, engine, deadline_ms):
    """The last answer, given the state before it and after."""
    first, answer, before, after = len(answers) == 1, answers[-1], states[-2], states[-1]
    why = checks.one_of("first" if first else "then", answer["result"], made.expect if first else made.then)
    if first:
        if made.audit is not None:
            why = why or checks.one_of("the audit's lines", answer["audits"], [made.audit])
        if made.says and made.says not in answer["message"]:
            why = why or f"the sentence does not say {made.says!r}"
        why = why or checks.in_time(made, answer["result"], answer["ms"], deadline_ms, 500 * SLOW, 0.4)
        if made.gives is not None and answer["seen"].get("bytes", 0) > made.gives:
            why = why or f"{answer['seen']['bytes']} bytes were handed out before it failed"
    if after:
        content = lambda path: engine.ask("content?path=" + path)
        why = why or checks.seen_right(made, answer["result"], answer["seen"], before, after, content)
        why = why or checks.left_right(made, answer["result"], before, after)
    return f"{why} ({answer['message']})" if why else ""
