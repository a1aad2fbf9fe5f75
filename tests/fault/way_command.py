"""A scenario by the command: its exit code, and one sentence on stderr."""
import os, subprocess

from process import SLOW, WRAP, Engine, environment


def run(made, parameters, directory, build, deadline_ms, memory_mb):
    """What the command answered, or a text of what was wrong; and the engine's last state."""
    engine = Engine(made, [f"{k}={v}" for k, v in parameters.items()], directory)
    words, wanted = made.command
    try:
        done = subprocess.run(WRAP + [os.path.join(build, "tools/sbxfs"), *words, "--engine", "unix://" + engine.socket],
                              capture_output=True, text=True, errors="replace", timeout=30 * SLOW, env=environment(directory))
        said = f"({done.returncode}: {done.stderr!r})"
        if done.returncode != wanted:
            return f"the command ended with {done.returncode}, not {wanted} {said}", None
        if done.stdout or done.stderr.count("\n") != 1 or made.says not in done.stderr:
            return f"the command did not say {made.says!r} in one line {said}", None
        return [f"exit {done.returncode}"], engine.settled()
    except subprocess.TimeoutExpired:
        return "the command does not end", None
    finally:
        engine.stop()
