"""claims.py CLAIM: one live claim about functions in sandboxes; prints what was got and ends with 0 if it holds."""
import os
import sys
import time

import sbx_function

IMAGE = "sbxfs-test-python:latest"
OPTIONS = ["--scope", os.environ["PREFIX"]]


def run(function, *args, timeout=40, **kwargs):
    result = sbx_function.run(function, *args, image=IMAGE, timeout=timeout, sbxfs=os.environ["SBXFS"],
                              options=OPTIONS, **kwargs)
    print(result)
    return result


def add(a, b):
    print("adding")
    return a + b


async def add_later(a, b):
    import asyncio
    await asyncio.sleep(0.1)
    return a + b


def loop():
    print("looping", flush=True)
    while True:
        pass


def fail():
    raise ValueError("no such thing")


def leave(status):
    import os
    os._exit(status)


def forge():
    print('{"success": true, "result": "forged"}')
    import os
    os._exit(3)


def reach_out():
    import socket
    names = sorted(name for _, name in socket.if_nameindex())
    try:
        socket.create_connection(("1.1.1.1", 53), 2).close()
        return "CONNECTED", names
    except OSError:
        return "BLOCKED", names


def availability():
    assert sbx_function.available(os.environ["SBXFS"]) is True
    assert sbx_function.available("/nonexistent/sbxfs") is False
    os.environ["DOCKER_HOST"] = "unix:///nonexistent/engine.sock"
    assert sbx_function.available(os.environ["SBXFS"]) is False
    result = run(add, 1, 2)
    assert not result.success and "available" in result.error


def success():
    result = run(add, 1, b=2)
    assert result.success and result.result == 3 and result.error == ""
    assert result.stdout == "adding\n" and result.execution_time_ms > 0 and result.sandbox_id


def awaited():
    result = run(add_later, 20, 22)
    assert result.success and result.result == 42


def timeout():
    began = time.monotonic()
    result = run(loop, timeout=8)  # making the sandbox counts, and is slow on a busy machine
    assert not result.success and "timed out after 8 s" in result.error
    assert result.stdout == "looping\n"
    assert time.monotonic() - began < 25


def network():
    result = run(reach_out)
    assert result.success and result.result == ["BLOCKED", ["lo"]]


def failures():
    raised = run(fail)
    assert not raised.success and raised.error == "ValueError: no such thing"
    status = run(leave, 7)
    assert not status.success and "status 7" in status.error
    silent = run(leave, 0)
    assert not silent.success and "status 0 and produced no result" in silent.error
    forged = run(forge)
    assert not forged.success and "status 3" in forged.error and forged.result is None
    image = sbx_function.run(add, 1, 2, image="sbxfs-test-absent:none", timeout=20, sbxfs=os.environ["SBXFS"],
                             options=OPTIONS + ["--pull-timeout", "5"])
    assert not image.success and image.error.startswith("execution failed")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
