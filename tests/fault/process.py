"""The processes of a scenario: its engine and our programs. Each has a bound; what it took of memory is asked before it ends."""
import http.client, json, os, re, select, socket, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
WRAP = os.environ.get("FAULT_WRAP", "").split()  # before each of our programs, as valgrind is
SLOW = int(os.environ.get("SBXFS_TEST_SLOW", "1"))  # sanitizers and memcheck


class Engine:
    def __init__(self, made, parameters, directory):
        self.made, self.socket = made, os.path.join(directory, "s")
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "engine.py"), self.socket, made.path, *parameters],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if not self.process.stdout.readline():
            raise OSError("the scripted engine did not start")

    def ask(self, word):
        """Of the engine's control. None when it has ended, as `die` makes it."""
        connection = http.client.HTTPConnection("engine", timeout=10)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(10)
        try:
            connection.sock.connect(self.socket)
            connection.request("GET", "/-/" + word)
            return connection.getresponse().read()
        except OSError:
            try:
                self.process.wait(1)
            except subprocess.TimeoutExpired:
                raise TimeoutError("the scripted engine does not answer") from None
            return None
        finally:
            connection.close()

    def state(self):
        answer = self.ask("state")
        return answer and json.loads(answer)

    def settled(self):
        """The state once nothing is paused that is not to be, or when three seconds were not enough for that."""
        end = time.time() + 3 * SLOW
        while (state := self.state()) and state["paused"] and not self.made.paused and time.time() < end:
            time.sleep(0.02)
        return state

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def environment(directory):
    runtime = os.path.join(directory, "runtime")
    os.makedirs(runtime, mode=0o700, exist_ok=True)
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS")}
    return dict(keep, HOME=directory, XDG_RUNTIME_DIR=runtime, XDG_STATE_HOME=directory, XDG_CACHE_HOME=directory, SBXFS_RUNTIME_DIR=runtime)


def peak_mb(process):
    """Resident memory at its highest, since the program was started. 0: it has ended."""
    try:
        with open(f"/proc/{process.pid}/status") as file:
            return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) / 1024
    except (OSError, AttributeError):
        return 0


class Lines:
    """A process's output by lines, each within a time."""

    def __init__(self, process):
        self.fd, self.buffer = process.stdout.fileno(), b""

    def next(self, seconds):
        """None: nothing came in time. "": the output has ended."""
        end = time.time() + seconds
        while b"\n" not in self.buffer:
            if not select.select([self.fd], [], [], max(0, end - time.time()))[0]:
                return None
            part = os.read(self.fd, 65536)
            if not part:
                return ""
            self.buffer += part
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line.decode(errors="replace")
