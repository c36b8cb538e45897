"""Starts engram-server for a test, under mpirun or alone, and ends it whatever happens."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time

START_SECONDS = 60
STOP_SECONDS = 40


def children_of(pid):
    """Process ids of the direct children."""
    children = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue  # ended meanwhile
        if int(stat.rpartition(")")[2].split()[1]) == pid:
            children.append(int(entry.name))
    return sorted(children)


def descendants_of(pid):
    found = []
    for child in children_of(pid):
        found += [child, *descendants_of(child)]
    return found


def kill(pid, number):
    """Signals a process that may have ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Server:
    """with Server(program, ["--checkpoint", PATH], ranks=2) as server: ... server.address

    `ranks`: launched by mpirun; else one process with `shards`. Leaving the block stops it by SIGTERM to the process in
    the pid file and asserts exit code 0, unless the block failed or ended the server itself.
    """

    def __init__(self, program, arguments, ranks=None, shards=1):
        self.folder = tempfile.TemporaryDirectory(prefix="engram-e2e-")
        self.port_file = pathlib.Path(self.folder.name, "port")
        self.pid_file = pathlib.Path(self.folder.name, "pid")
        self.log_file = pathlib.Path(self.folder.name, "log")
        self.ranks = ranks
        command = [program, *arguments, "--listen", "127.0.0.1:0", "--port-file", str(self.port_file)]
        command += ["--pid-file", str(self.pid_file)]
        if ranks is None:
            command += ["--shards", str(shards)]
        else:
            command = ["mpirun", "-np", str(ranks), "--oversubscribe", "--bind-to", "none", *command]
        self.command = command
        self.process = None
        self.address = None

    def __enter__(self):
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        with open(self.log_file, "wb") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment)
        try:
            self._wait_until_serving()
        except BaseException:
            self._clean_up()
            raise
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None and self.process.poll() is None:
                self.stop()
            elif kind is not None:
                print(f"---- {' '.join(self.command)}\n{self.log()}----")
        finally:
            self._clean_up()

    def _wait_until_serving(self):
        deadline = time.monotonic() + START_SECONDS
        while not (self.port_file.exists() and self.port_file.read_text().endswith("\n")):
            if self.process.poll() is not None:
                raise AssertionError(f"{self.command} ended with {self.process.returncode}:\n{self.log()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.command} was not SERVING after {START_SECONDS} s:\n{self.log()}")
            time.sleep(0.02)
        self.address = self.port_file.read_text().strip()

    def _clean_up(self):
        if self.process.poll() is None:
            for pid in [*descendants_of(self.process.pid), self.process.pid]:
                kill(pid, signal.SIGKILL)
            self.process.wait()
        self.folder.cleanup()

    def front_pid(self):
        return int(self.pid_file.read_text())

    def rank_pids(self):
        """Process id of each rank, by rank number."""
        if self.ranks is None:
            return [self.process.pid]
        found = {}
        for pid in descendants_of(self.process.pid):
            environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            for variable in environment:
                if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                    found[int(variable.partition(b"=")[2])] = pid
        assert sorted(found) == list(range(self.ranks)), found
        return [found[rank] for rank in range(self.ranks)]

    def log(self):
        return self.log_file.read_text(errors="replace")[-8000:]

    def wait(self, seconds=STOP_SECONDS):
        """Exit code; fails when the program still runs after that time."""
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.command} still runs after {seconds} s:\n{self.log()}") from None

    def stop(self):
        kill(self.front_pid(), signal.SIGTERM)
        code = self.wait()
        assert code == 0, f"exit code {code} after SIGTERM:\n{self.log()}"
