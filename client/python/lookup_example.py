#!/usr/bin/env python3
"""Prefill on one server, decode on another: the service from Python, with stock grpcio and the .proto alone.

    python3 -m pip install grpcio grpcio-tools
    python3 client/python/lookup_example.py PREFILL_HOST:PORT [DECODE_HOST:PORT]

Nothing of this project is imported: the client code is generated from proto/engram/v1/engram.proto.
"""

import argparse
import pathlib
import queue
import sys
import tempfile

import grpc
from grpc_tools import protoc


def generate():
    """The modules that protoc makes from the .proto."""
    proto = pathlib.Path(__file__).resolve().parents[2] / "proto"
    with tempfile.TemporaryDirectory() as folder:
        if protoc.main(["protoc", f"-I{proto}", f"--python_out={folder}", f"--grpc_python_out={folder}",
                        "engram/v1/engram.proto"]) != 0:
            sys.exit("protoc failed")
        sys.path.insert(0, folder)
        from engram.v1 import engram_pb2, engram_pb2_grpc
        return engram_pb2, engram_pb2_grpc


pb, services = generate()


class Connection:
    """One stream: steps go out, frames come back. Frames of a step come in order."""

    def __init__(self, address, client_id):
        self.channel = grpc.insecure_channel(address)
        self.outgoing = queue.SimpleQueue()
        self.outgoing.put(pb.ClientMessage(hello=pb.Hello(client_id=client_id)))
        self.incoming = services.EngramLookupStub(self.channel).Stream(iter(self.outgoing.get, None))
        self.model = next(self.incoming).welcome.model
        self.steps = 0

    def step(self, segments, **fields):
        """Sends one step; returns ({layer: rows as bytes, [tokens, K, row bytes]}, [SegmentResult])."""
        self.steps += 1
        request = pb.StepRequest(step_id=self.steps, segments=segments, **fields)
        self.outgoing.put(pb.ClientMessage(step=request))
        rows, results = {}, []
        for message in self.incoming:
            if not message.HasField("reply"):
                continue  # a Drain: this server is about to stop
            frame = message.reply
            results += frame.results
            if frame.rows:
                rows.setdefault(frame.layer, bytearray()).extend(frame.rows)
            if frame.last:
                break
        else:
            raise RuntimeError("the server ended the stream")
        failed = [frame] if frame.code else [result for result in results if result.code]
        if failed:
            raise RuntimeError(f"code {failed[0].code}: {failed[0].message}")
        return rows, results

    def close(self):
        self.outgoing.put(None)
        self.channel.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefill", help="HOST:PORT")
    parser.add_argument("decode", nargs="?", help="HOST:PORT (default: the same server)")
    options = parser.parse_args()
    prompt, answer = [0, 9, 20, 31, 42, 53, 64], [7, 8, 9]

    prefill = Connection(options.prefill, "prefill-1")
    geometry = prefill.model.geometry
    print(f"{prefill.model.name}: layers {list(geometry.layer_ids)}, {geometry.columns} rows of "
          f"{geometry.packed_row_bytes} bytes a token")

    # Prefill in two chunks: the session keeps the look-back between them. return_states asks for what a decode server
    # needs to go on.
    prefill.step([pb.Segment(session_id=1, start_pos=0, token_ids=prompt[:4])])
    rows, results = prefill.step([pb.Segment(session_id=1, start_pos=4, token_ids=prompt[4:])], return_states=True)
    state = results[0].state
    for layer, data in rows.items():
        print(f"prefill, layer {layer}: {len(data)} bytes, first row {data[:8].hex()}...")
    prefill.close()
    print(f"hand-over at position {state.position}: compressed ids {list(state.compressed_ids)}")

    # Decode, perhaps on another machine: the first step carries the state, the next ones know it.
    decode = Connection(options.decode or options.prefill, "decode-1")
    for i, token in enumerate(answer):
        seed = {"state": state} if i == 0 else {}
        position = len(prompt) + i
        rows, _ = decode.step([pb.Segment(session_id=1, start_pos=position, token_ids=[token], **seed)])
        print(f"decode, position {position}: " + ", ".join(f"layer {n}: {len(data)} bytes" for n, data in rows.items()))
    decode.close()


if __name__ == "__main__":
    main()
