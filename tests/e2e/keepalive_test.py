#!/usr/bin/env python3
"""Clients that ping every 10 s, with a stream that has nothing to say and with no call at all, are not sent away."""

import argparse
import time

from engram_client import OK, Stream, connect, pb, segment
from engram_server import Server
from golden_case import GoldenCase

PING_MS = 10_000
# The fifth ping: a server that counts them as bad behaviour says too_many_pings at the third or fourth.
IDLE_SECONDS = 52
OPTIONS = [("grpc.keepalive_time_ms", PING_MS), ("grpc.keepalive_timeout_ms", 5_000),
           ("grpc.keepalive_permit_without_calls", 1), ("grpc.http2.max_pings_without_data", 0),
           ("grpc.use_local_subchannel_pool", 1)]


def lookup(stub):
    step = pb.StepRequest(step_id=1, segments=[segment(0, 0, [1, 2])])
    return stub.Lookup(pb.LookupRequest(step=step), timeout=10).frames[-1].code


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    options = parser.parse_args()
    with Server(options.server, GoldenCase("tiny").checkpoint_arguments()) as server:
        channel, stub = connect(server.address, OPTIONS)
        states = []
        channel.subscribe(states.append)
        with channel, Stream(server.address, options=OPTIONS) as stream:
            assert lookup(stub) == OK
            stream.step([segment(7, 0, [1, 2, 3])]).expect_ok()
            before = len(states)
            time.sleep(IDLE_SECONDS)
            stream.step([segment(7, 3, [4])]).expect_ok()
            assert len(states) == before, f"the idle channel changed its state: {states}"
            assert lookup(stub) == OK
    print(f"{IDLE_SECONDS} s with a ping each {PING_MS // 1000} s: stream and channel as before")


if __name__ == "__main__":
    main()
