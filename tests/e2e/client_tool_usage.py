"""What `engram` says of wrong command lines, and its exit codes."""

import concurrent.futures
import contextlib
import re
import subprocess

from engram_client import grpc  # skips where grpcio is missing
from engram_tool import DATA, files_of


def check_usage(tool, server):
    for words, message in (
            (["info"], "--server and --checkpoint"),
            (["lookup", "--server", server.address, "--tokens", "1,x"], "entry 1 is 'x'"),
            (["lookup", "--server", server.address, "--tokens", "1,2", "--mask", "1"], "1 entries for 2 tokens"),
            (["lookup", "--server", server.address, "--tokens", "1", "--start-pos", "5"], "--lookback"),
            (["lookup", "--server", server.address, "--tokens", "1", "--format", "fp4"], "fp4"),
            (["verify", "--server", server.address], "--checkpoint"),
            (["verify", "--server", server.address, "--checkpoint", "x", "--duration", "soon"], "soon"),
            (["verify", "--checkpoint", "x"], "--server"),
            (["verify", "--server", "a:1", "--servers", "b:1,c:1", "--checkpoint", "x"], "--servers"),
            (["verify", "--server", "a:1", "--checkpoint", "x", "--streams", 0], "--streams"),
            (["verify", "--server", "a:1", "--checkpoint", "x", "--in-flight", 0], "--in-flight"),
            (["verify", "--server", "a:1", "--checkpoint", "x", "--forks", 1.5], "--forks"),
            (["verify", "--server", "a:1", "--checkpoint", "x", "--cancel", "-1"], "--cancel"),
            (["verify", "--servers", "a:1,b:1", "--checkpoint", "x", "--script", "prefill-decode"], "one server"),
            (["lookup", "--server", "a:1", "--tokens", "1,,2"], "entry 1 is empty"),
            (["lookup", "--server", "a:1", "--tokens", "1,2,"], "entry 2 is empty"),
            (["lookup", "--server", "a:1", "--tokens", "1", "--start-pos", "-1"], f"from 0 to {2**64 - 1}"),
            (["lookup", "--server", "a:1", "--tokens", "1", "--chunk", "0"], f"from 1 to {2**64 - 1}"),
            (["verify", "--server", "a:1", "--checkpoint", "x", "--steps", "0"], f"from 1 to {2**64 - 1}"),
            (["verify", "--server", "a:1", "--checkpoint", "x", "--seed", 2**64], f"from 0 to {2**64 - 1}"),
            (["verify", "--server", "a:1", "--checkpoint", "x", "--formats", "x"], "format 'x'"),
            (["verify", "--server", "a:1", "--checkpoint", "x", "--tokens", "/no/file"], "/no/file"),
            (["verify", "--server", "a:1", *files_of("tiny"), "--script", "prefill-decode"], "--tokens FILE"),
            (["info", "--checkpoint", "x", "--health"], "--server"),
            (["nothing"], "'nothing' is no subcommand")):
        _, error = tool(*words, code=2)
        assert message in error, (words, error)
    _, error = tool("lookup", "--server", server.address, "--tokens", "1", "--layers", "77", code=1)
    assert "77" in error, error
    _, error = tool("lookup", "--server", server.address, "--tokens", "999999", code=1)
    assert "999999" in error, error


def check_output(tool, server):
    """The version; the health alone, for probes; a standard output that cannot be written is a failure."""
    text, _ = tool("--version")
    assert re.fullmatch(r"engram \d+\.\d+\.\d+\n", text), text
    assert tool("info", "--server", server.address, "--health")[0] == "SERVING\n"
    tool("info", "--server", "127.0.0.1:1", "--health", code=1)
    with not_serving() as address:
        assert tool("info", "--server", address, "--health", code=1)[0] == "NOT_SERVING\n"
    for words in (["info", "--server", server.address], ["lookup", "--server", server.address, "--tokens", "1,2"],
                  ["info", "--checkpoint", DATA / "tiny_tables.gguf"], ["--help"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([tool.program, *map(str, words)], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=60, check=False)
        assert done.returncode == 1 and "standard output" in done.stderr, (words, done)


@contextlib.contextmanager
def not_serving():
    """A server that has nothing but its health, and is not well: HealthCheckResponse.status = 2."""
    check = grpc.unary_unary_rpc_method_handler(lambda request, context: b"\x08\x02")
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": check}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()
