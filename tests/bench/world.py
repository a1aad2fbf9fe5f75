"""The bench's world: sandboxes of one engine, a mount that can be made cold, and a stop-watch."""
import json, os, shutil, signal, statistics, subprocess, tempfile, time

SILENT = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class World:
    def __init__(self, engine, build, repeat):
        self.engine, self.binary, self.repeat = engine, os.path.join(os.path.abspath(build), "tools/sbxfs"), repeat
        self.directory = tempfile.mkdtemp(prefix="sbxfs-bench.", dir="/var/tmp")
        self.mount_point = os.path.join(self.directory, "mnt")
        os.mkdir(self.mount_point)
        runtime = os.path.join(self.directory, "runtime")
        os.mkdir(runtime, 0o700)
        os.environ.update(XDG_RUNTIME_DIR=runtime, XDG_CACHE_HOME=self.directory, XDG_STATE_HOME=self.directory)
        self.socket = os.environ["DOCKER_HOST"].removeprefix("unix://")
        self.daemon, self.peak_kib, self.made = None, 0, []

    # ---- commands

    def run(self, *command, seconds=300, check=True, **keywords):
        done = subprocess.run(command, timeout=seconds, **{**SILENT, "stderr": subprocess.PIPE, **keywords})
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)[:120]}: exit {done.returncode}: {done.stderr[-200:]}")
        return done

    def shell(self, line, seconds=300):
        self.run("sh", "-c", line, seconds=seconds)

    def docker(self, *words, seconds=300):
        self.run("docker", *words, seconds=seconds)

    def guest(self, name, line, seconds=300):
        """By the engine's exec: nothing of ours is mounted while the world is prepared."""
        self.docker("exec", name, "sh", "-c", line, seconds=seconds)

    def sandbox(self, name, *outputs):
        full = f"bench-{os.getpid()}-{name}"
        limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000"] if self.engine.startswith("podman") else []
        self.docker("run", "-d", "--name", full, "--network", "none", *limits, "--label", "sbxfs.version=1", "--label",
                    "sbxfs.outputs=" + json.dumps(list(outputs)), "sbxfs-test:latest")
        self.made.append(full)
        return full

    # ---- the mount

    def mount(self, *options):
        self.unmount()
        words = [w for option in options for w in ("-o", option)]
        self.daemon = subprocess.Popen([self.binary, "mount", "-f", *words, self.mount_point], **SILENT)
        end = time.time() + 20
        while not os.path.ismount(self.mount_point):
            if time.time() > end or self.daemon.poll() is not None:
                raise RuntimeError("the mount does not serve")
            time.sleep(0.01)

    def unmount(self):
        if not self.daemon:
            return
        self.note_peak(self.daemon)
        self.daemon.send_signal(signal.SIGTERM)
        try:
            self.daemon.wait(20)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        self.daemon = None
        time.sleep(0.1)

    def note_peak(self, daemon):
        with open(f"/proc/{daemon.pid}/status") as status:
            self.peak_kib = max([self.peak_kib, *(int(line.split()[1]) for line in status if line.startswith("VmHWM"))])

    def stats(self):
        with open(os.path.join(self.mount_point, ".sbxfs/stats.json")) as file:
            return json.load(file)

    def path(self, sandbox, path):
        return os.path.join(self.mount_point, sandbox, path)

    # ---- time

    def once(self, action, before=None):
        if before:
            before()
        start = time.perf_counter()
        action()
        return time.perf_counter() - start

    def median(self, action, before=None, repeat=None):
        return statistics.median(self.once(action, before) for _ in range(repeat or self.repeat))

    def close(self):
        self.unmount()
        for name in self.made:
            subprocess.run(["docker", "rm", "-f", name], timeout=60, **SILENT)
        subprocess.run(["umount", "-l", self.mount_point], timeout=10, **SILENT)
        shutil.rmtree(self.directory, ignore_errors=True)
