"""The processes that benchmarks talk to, all on loopback and each ended by its own process id."""

import pathlib
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import engram_server

engram_server.START_SECONDS = 900  # large tables from a slow disk


class Background:
    """A process that lives as long as the block."""

    def __init__(self, command, log):
        self.log = open(log, "wb")
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=subprocess.STDOUT)

    def __enter__(self):
        try:
            self.wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def wait_until_ready(self):
        deadline = time.monotonic() + 30
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"bench: {self.process.args[0]} did not start:\n{open(self.log.name).read()[-2000:]}")
            time.sleep(0.01)

    def is_ready(self):
        raise NotImplementedError


class Echo(Background):
    def __init__(self, program, config, folder):
        self.port_file = folder / "echo.port"
        self.port_file.unlink(missing_ok=True)
        super().__init__([program, "--config", config, "--port-file", self.port_file], folder / "echo.log")

    def is_ready(self):
        return self.port_file.exists() and self.port_file.read_text().endswith("\n")

    @property
    def address(self):
        return self.port_file.read_text().strip()


class Redis(Background):
    """redis-server that keeps everything in memory and writes nothing."""

    @staticmethod
    def program():
        return shutil.which("redis-server")

    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        super().__init__([self.program(), "--bind", "127.0.0.1", "--port", self.port, "--save", "", "--appendonly",
                          "no", "--dir", folder], folder / "redis.log")

    def is_ready(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
