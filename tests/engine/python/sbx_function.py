"""Run a Python function in a sandbox of its own, through `sbxfs run`. Standard library only; copy this page.

    result = run(add, 1, 2, image="python:3.12-slim", timeout=10)

The function's source and its pickled arguments go in as files and its value comes out as a JSON file, so what it
prints is output and never a result. Nothing is raised for what happens in the sandbox: every outcome is a Result.
What comes from the sandbox is never unpickled: unpickling runs code.
"""
import dataclasses, inspect, json, pathlib, pickle, subprocess, tempfile, textwrap

RUNNER = '''
import asyncio, inspect, json, pickle, traceback
with open("in/call.pickle", "rb") as file:
    name, args, kwargs = pickle.load(file)
try:
    scope = {"__name__": "sandboxed"}
    with open("in/function.py") as file:
        exec(compile(file.read(), "function.py", "exec"), scope)
    value = scope[name](*args, **kwargs)
    if inspect.isawaitable(value):
        async def wait():
            return await value
        value = asyncio.run(wait())
    text = json.dumps({"value": value})
except Exception as error:
    text = json.dumps({"raised": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()})
with open("result.json", "w") as file:
    file.write(text)
'''


@dataclasses.dataclass
class Result:
    success: bool = False
    result: object = None
    error: str = ""  # one sentence, empty on success
    stdout: str = ""
    stderr: str = ""
    execution_time_ms: int = 0
    sandbox_id: str = ""
    backend: str = "sbxfs"


def available(sbxfs="sbxfs"):
    """True only if an engine answers. Never raises."""
    try:
        return subprocess.run([sbxfs, "ls"], capture_output=True, timeout=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def run(function, *args, image, timeout=60, options=(), sbxfs="sbxfs", **kwargs):
    """Calls function(*args, **kwargs) in a fresh sandbox. The image needs python3 and sleep; modules that the function
    imports must be in it, and its imports inside the function. options: more words for `sbxfs run`."""
    if not available(sbxfs):
        return Result(error="no container engine is available")
    with tempfile.TemporaryDirectory() as directory:
        here = pathlib.Path(directory)
        try:
            (here / "function.py").write_text(textwrap.dedent(inspect.getsource(function)))
            (here / "call.pickle").write_bytes(pickle.dumps((function.__name__, args, kwargs)))
        except (OSError, TypeError, AttributeError, pickle.PicklingError) as error:
            return Result(error=f"execution failed: {error}")
        (here / "runner.py").write_text(RUNNER)
        inputs = [word for name in ("function.py", "call.pickle", "runner.py") for word in ("--in", str(here / name))]
        command = [sbxfs, "run", "--json", "--image", image, "--timeout", str(timeout), *inputs, *options,
                   "--output", "result.json", "--collect", str(here / "out"), "--", "python3", "-I", "in/runner.py"]
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
        try:
            answer = json.loads(ran.stdout)
        except ValueError:
            return Result(error=f"execution failed: {ran.stderr.decode(errors='replace').strip()}")
        result = Result(stdout=answer["stdout"], stderr=answer["stderr"], sandbox_id=answer["sandbox"],
                        execution_time_ms=answer["duration_ms"])
        return _judge(result, answer, here / "out" / "result.json", timeout)


def _judge(result, answer, file, timeout):
    if answer["error_kind"] == "deadline":
        result.error = f"timed out after {timeout} s: {answer['error']}"
    elif answer["error_kind"] not in (None, "none"):
        result.error = f"execution failed: {answer['error']}"
    elif answer["exit_code"] != 0:
        result.error = f"the sandbox exited with status {answer['exit_code']} and produced no result"
    elif not file.exists():
        result.error = "the sandbox exited with status 0 and produced no result"
    else:
        try:
            value = json.loads(file.read_bytes())
            result.success, result.result, result.error = "value" in value, value.get("value"), value.get("raised", "")
        except (ValueError, AttributeError, TypeError) as error:
            result.error = f"execution failed: the result is not readable: {error}"
    return result
