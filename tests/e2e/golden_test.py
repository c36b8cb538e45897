#!/usr/bin/env python3
"""The golden steps of a case, a session per batch row: every mode, format, placement and source of the files."""

import argparse
import itertools
import sys

from engram_client import BF16, HASH_IDS, PACKED, OK, Stream, connect, grpc, pb, segment
from engram_server import Server
from golden_case import GoldenCase

MODES = {
    "OWNER_GATHER": {PACKED, BF16, HASH_IDS},
    "ALL_REDUCE_PACKED": {PACKED, BF16, HASH_IDS},
    "ALL_REDUCE_BF16": {BF16, HASH_IDS},
}
FORMAT_NAMES = {PACKED: "packed", BF16: "bf16", HASH_IDS: "hash ids"}


def check_model(model, case, mode, placement, parts):
    geometry = model.geometry
    assert list(geometry.layer_ids) == case.layer_ids and list(geometry.rows) == case.rows, geometry
    assert (geometry.max_ngram_size, geometry.heads, geometry.head_dim) == (case.ngram, case.heads, case.dim), geometry
    assert geometry.columns == case.columns and geometry.packed_row_bytes == case.dim + case.dim // 32, geometry
    assert (model.combine, model.placement, model.ranks) == (mode, placement, parts), model
    assert set(model.formats) == MODES[mode], model.formats
    assert len(model.model_digest) == 32 and len(model.constants_digest) == 32, model


def compare(what, found, wanted):
    if found == wanted:
        return
    assert len(found) == len(wanted), f"{what}: {len(found)} values, wanted {len(wanted)}"
    at = next(i for i, (a, b) in enumerate(zip(found, wanted)) if a != b)
    raise AssertionError(f"{what}: at {at} found {found[at]}, wanted {wanted[at]}")


def segments_of(step, session_base):
    return [segment(session_base + b, step.start_pos, step.tokens[b], step.masks[b]) for b in range(step.batch)]


def check_steps(stream, case, row_format, summed):
    """All steps of the case in their order; returns the number of values compared."""
    values = 0
    for number, step in enumerate(case.steps):
        result = stream.step(segments_of(step, 100 * row_format + 1), row_format).expect_ok()
        assert [r.length for r in result.results] == [step.start_pos + step.length] * step.batch, result.results
        for layer in case.layer_ids:
            what = f"step {number}, layer {layer}, {FORMAT_NAMES[row_format]}"
            if row_format == HASH_IDS:
                found, wanted = result.hash_ids(layer), step.wanted[HASH_IDS][layer]
            else:
                found = result.rows(layer)
                wanted = step.wanted_summed[layer] if summed and row_format == BF16 else step.wanted[row_format][layer]
            compare(what, found, wanted)
            values += len(wanted)
    return values


def check_lookup(stub, case, row_format, summed):
    """The first step once more, by the unary call."""
    step = case.steps[0]
    request = pb.StepRequest(step_id=1, segments=segments_of(step, 1), format=row_format)
    frames = stub.Lookup(pb.LookupRequest(step=request), timeout=30).frames
    assert frames[-1].last and frames[-1].code == OK, frames[-1]
    for layer in case.layer_ids:
        if row_format == HASH_IDS:
            found = [row for frame in frames if frame.layer == layer for row in frame.hash_ids]
            wanted = step.wanted[HASH_IDS][layer]
        else:
            found = b"".join(frame.rows for frame in frames if frame.layer == layer)
            wanted = step.wanted_summed[layer] if summed and row_format == BF16 else step.wanted[row_format][layer]
        compare(f"Lookup, layer {layer}, {FORMAT_NAMES[row_format]}", found, wanted)


def check_missing_format(stream, mode):
    for row_format in {PACKED, BF16, HASH_IDS} - MODES[mode]:
        result = stream.step([segment(0, 0, [1])], row_format)
        assert result.code == grpc.StatusCode.FAILED_PRECONDITION.value[0], result.last
        assert result.last.message, "no message"


def check_server(server, case, mode, placement, parts):
    summed = mode == "ALL_REDUCE_BF16" and parts > 1
    channel, stub = connect(server.address)
    with channel, Stream(server.address) as stream:
        check_model(stub.GetModel(pb.GetModelRequest(), timeout=30), case, mode, placement, parts)
        values = 0
        for row_format in sorted(MODES[mode]):
            values += check_steps(stream, case, row_format, summed)
            check_lookup(stub, case, row_format, summed)
        check_missing_format(stream, mode)
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--case", required=True, choices=("tiny", "medium", "extremes"))
    launch = parser.add_mutually_exclusive_group(required=True)
    launch.add_argument("--ranks", type=int)
    launch.add_argument("--shards", type=int)
    parser.add_argument("--placements", default="HOST,MAPPED", type=lambda text: text.split(","))
    options = parser.parse_args()
    case = GoldenCase(options.case)
    sources = {"folder": case.checkpoint_arguments(), "gguf": case.gguf_arguments()}
    parts = options.ranks or options.shards
    for (source, arguments), mode, placement in itertools.product(sources.items(), MODES, options.placements):
        arguments = [*arguments, "--combine", mode, "--placement", placement]
        with Server(options.server, arguments, ranks=options.ranks, shards=options.shards) as server:
            values = check_server(server, case, mode, placement, parts)
        print(f"{case.name} from {source}, {mode}, {placement}, {parts} parts: {values} values equal", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
