#!/usr/bin/env python3
"""What any gRPC client may expect: health, reflection, frames within the limit, and the example of client/python."""

import argparse
import signal
import subprocess
import sys
import time

from engram_client import BF16, SOURCE, Stream, connect, grpc, pb, segment
from engram_server import Server, kill
from golden_case import GoldenCase

try:
    from grpc_health.v1 import health_pb2, health_pb2_grpc
    from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
except ImportError as error:
    print(f"SKIPPED: {error} (python3 -m pip install -r tests/requirements.txt)")
    sys.exit(77)

SERVICE = "engram.v1.EngramLookup"
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def health_of(channel, service):
    request = health_pb2.HealthCheckRequest(service=service)
    return health_pb2_grpc.HealthStub(channel).Check(request, timeout=10).status


def check_health(server):
    channel, _ = connect(server.address)
    with channel:
        assert health_of(channel, "") == SERVING and health_of(channel, SERVICE) == SERVING
    print("health: SERVING")


def check_reflection(server):
    channel, _ = connect(server.address)
    with channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        (reply,) = stub.ServerReflectionInfo(iter([request]), timeout=10)
        names = [service.name for service in reply.list_services_response.service]
        assert SERVICE in names and "grpc.health.v1.Health" in names, names
        request = reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE)
        (reply,) = stub.ServerReflectionInfo(iter([request]), timeout=10)
        assert any(b"HashState" in file for file in reply.file_descriptor_response.file_descriptor_proto), "no .proto"
    print(f"reflection: {', '.join(names)}")


def check_frames(server):
    with Stream(server.address) as stream:
        limit = stream.welcome.model.limits.frame_bytes_max
        result = stream.step([segment(0, 0, [t % 512 for t in range(1000)])], BF16).expect_ok()
        sizes = [pb.ServerMessage(reply=frame).ByteSize() for frames in result.layers.values() for frame in frames]
        assert len(sizes) > 2 and max(sizes) <= limit, (sizes, limit)
        assert max(sizes) > limit * 3 // 4, f"frames of {max(sizes)} bytes leave most of {limit} unused"
        for layer in (1, 14):
            assert len(result.rows(layer)) == 1000 * 24 * 512, len(result.rows(layer))
    print(f"1000 tokens: {len(sizes)} frames of at most {max(sizes)} of {limit} bytes")


def check_example(prefill, decode):
    command = [sys.executable, str(SOURCE / "client" / "python" / "lookup_example.py"), prefill.address, decode.address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hand-over at position 7" in done.stdout and "decode, position 9" in done.stdout, done.stdout
    print(done.stdout.strip())


def check_drain(server):
    """A stream in use keeps the server up while health and new calls say that it stops."""
    channel, stub = connect(server.address)
    with channel, Stream(server.address, keep_rows=False) as stream:
        steps = [stream.send([segment(0, 0, [t % 512 for t in range(8000)])], BF16) for _ in range(3)]
        stream.receive()
        kill(server.front_pid(), signal.SIGTERM)
        time.sleep(0.5)
        assert health_of(channel, "") == NOT_SERVING
        request = pb.LookupRequest(step=pb.StepRequest(step_id=1, segments=[segment(0, 0, [1])]))
        refused = refusal(stub, request)
        assert refused == grpc.StatusCode.UNAVAILABLE, refused
        for step in steps:
            stream.result(step).expect_ok()
    assert server.wait() == 0, server.log()
    print("draining: NOT_SERVING, new steps UNAVAILABLE, old ones answered")


def refusal(stub, request):
    """The status of a call, or of the step in its answer."""
    try:
        frames = stub.Lookup(request, timeout=10).frames
    except grpc.RpcError as error:
        return error.code()
    return next(code for code in grpc.StatusCode if code.value[0] == frames[-1].code)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    options = parser.parse_args()
    arguments = GoldenCase("medium").checkpoint_arguments()
    with Server(options.server, arguments, shards=2) as first, Server(options.server, arguments) as second:
        check_health(first)
        check_reflection(first)
        check_frames(first)
        check_example(first, second)
        check_drain(first)
    return 0


if __name__ == "__main__":
    sys.exit(main())
