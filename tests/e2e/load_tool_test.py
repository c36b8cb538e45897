#!/usr/bin/env python3
"""`engram load` against a real server: every profile with every byte checked, exit codes, reports, lost servers."""

import argparse
import json
import pathlib
import re
import tempfile

from engram_client import SOURCE  # skips where grpcio is missing
from engram_server import Server
from engram_tool import Tool
from load_report_page import check_page
from load_tool_faults import Load, check_damaged_table, check_interrupted, check_lost_server, check_usage

TEXTS = SOURCE / "deploy" / "texts" / "texts.jsonl"
SHORT = ["--duration", "1s", "--warm-up", "100ms"]


def check_served(report, kinds, verified=True):
    assert set(report["steps"]) == set(kinds) | ({"all"} if len(kinds) > 1 else set()), report["steps"].keys()
    for kind in kinds:
        steps = report["steps"][kind]
        assert steps["ok"] > 5 and steps["failed"] == 0 and steps["latency"]["p50_ms"] > 0, (kind, steps)
        assert steps["rows"] == 48 * steps["tokens"] and steps["bytes"] == 264 * steps["rows"], steps
    assert report["error_rate"] == 0, report["errors"]
    stages = report["server_stages"]
    assert stages["rounds"] > 0 and stages["gather_ms"] > 0 and stages["hash_ms"] > 0, stages
    if verified:
        assert report["verified"]["failure"] == "" and report["verified"]["steps"] > 10, report["verified"]


def check_profiles(load):
    for words, kinds in (
            (["--profile", "decode", "--streams", 3, "--batch", 4, "--tokens-from", TEXTS], ["decode"]),
            (["--profile", "prefill", "--tokens", 64, "--zipf", 1.2], ["prefill"]),
            (["--profile", "speculative", "--in-flight", 4, "--zipf", 0], ["speculative"]),
            (["--profile", "mixed", "--streams", 2, "--tokens", 64, "--session-tokens", 200], ["decode", "prefill"])):
        report, text, _ = load(*words, *SHORT, *load.checkpoint)
        check_served(report, kinds)
        assert re.search(r"verified: [1-9]\d* steps, [1-9]\d* rows, every byte right", text), text
    report, _, _ = load("--profile", "decode", "--format", "hash_ids", *SHORT, *load.checkpoint)
    assert report["verified"]["failure"] == "" and report["steps"]["decode"]["ok"] > 5, report


def check_replay(load):
    recorded = load.folder / "steps.jsonl"
    load("--profile", "speculative", "--streams", 2, "--in-flight", 4, "--sessions", 8, "--session-tokens", 60,
         "--rate", 300, "--record", recorded, *SHORT)
    lines = [json.loads(line) for line in recorded.read_text().splitlines()]
    assert {line["stream"] for line in lines} == {0, 1} and any("close" in line for line in lines), len(lines)
    for words in ([], ["--arrival", "recorded"]):
        report, _, _ = load("--replay", recorded, "--warm-up", "0s", *words, *load.checkpoint)
        check_served(report, ["speculative"])
        assert report["verified"]["steps"] == len(lines), (report["verified"], len(lines))
        assert report["ended"] == "end of the replay", report["ended"]
    assert report["measured_s"] > 0.9, "the recorded times were not kept"


def check_reports(load):
    page = load.folder / "report.html"
    report, text, error = load("--profile", "mixed", "--streams", 2, "--tokens", 64, "--rate", 200, "--html", page,
                               "--duration", "2500ms", "--warm-up", "100ms", "--slo",
                               "decode.p99_ms=60000,error_rate=0")
    check_served(report, ["decode", "prefill"], verified=False)
    check_page(page, report)
    assert abs(report["steps"]["all"]["steps_per_s"] - 200) < 40, report["steps"]["all"]["steps_per_s"]
    assert [slo["met"] for slo in report["slo"]] == [True, True] and "slo decode.p99_ms <= 60000" in text, text
    assert len(re.findall(r"(?m)^ +\d+ s.*: \d+ steps/s, \d+ tokens/s, p50 ", error)) >= 2, error
    report, text, _ = load(*SHORT, "--slo", "p99_ms=0.000001,tokens_per_s=1", code=3)
    assert [slo["met"] for slo in report["slo"]] == [False, True] and "MISSED" in text, text


def check_unreachable_rate(load):
    report, text, _ = load("--rate", 400000, "--due-max", 50000, "--duration", "2s", "--warm-up", "0s", "--quiet",
                           "--slo", "error_rate=0.01", code=3)
    assert report["starts_dropped"] > 1000 and report["starts_left"] == 50000, report
    assert "intended starts were dropped" in text and report["error_rate"] > 0.1, text
    report, _, error = load("--rate", 400000, "--due-max", 10000000, "--duration", "3s", "--warm-up", "0s")
    first, last = report["timeline"][0], report["timeline"][-1]
    assert report["starts_dropped"] == 0 and last["due"] > first["due"] > 0, (first, last)
    assert last["p50_ms"] > 2 * first["p50_ms"], ("latency must grow from the intended starts", first, last)
    assert report["start_delay"]["max_ms"] > 1000 and " due" in error, report["start_delay"]


def check_chance(load):
    report, _, _ = load("--profile", "speculative", "--streams", 4, "--in-flight", 8, "--cancel-fraction", 0.3,
                        "--reconnect-every", "100ms", "--duration", "2s", "--warm-up", "0s", *load.checkpoint)
    steps = report["steps"]["speculative"]
    assert steps["cancelled"] > 0 and steps["interrupted"] > 0 and report["reconnections"] > 5, report
    assert report["error_rate"] == 0 and report["verified"]["failure"] == "" and steps["ok"] > 10, report["errors"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--tool", required=True)
    options = parser.parse_args()
    tool = Tool(options.tool)
    with tempfile.TemporaryDirectory(prefix="engram-load-") as name:
        folder = pathlib.Path(name)
        checkpoint = folder / "small"
        tool("synth", "--out", checkpoint, "--config", SOURCE / "deploy" / "geometries" / "small.json", "--derive-rows")
        with Server(options.server, ["--checkpoint", str(checkpoint)], shards=2) as server:
            load = Load(tool, folder, server.address, checkpoint)
            for check in (check_profiles, check_replay, check_reports, check_unreachable_rate, check_chance):
                check(load)
            check_interrupted(options, load)
            check_usage(tool, server.address)
        check_lost_server(options, tool, folder, checkpoint)
        check_damaged_table(options, tool, folder, checkpoint)
    print("load_tool_test: OK")


if __name__ == "__main__":
    main()
