#!/usr/bin/env python3
"""Provokes every line of docs/errors.md: code and whole message, and then the history as if nothing had happened."""

import argparse
import sys

import errors_faults
import errors_limits
import errors_segments
import errors_shared
import errors_steps
from engram_server import Server
from errors_bench import Reference, arguments
from errors_table import Errors

CHECKS = (errors_segments.check_segments, errors_steps.check_steps, errors_steps.check_format,
          errors_limits.check_limits, errors_limits.check_budget, errors_limits.check_share,
          errors_limits.check_hello_timeout, errors_shared.check_shared, errors_faults.check_draining,
          errors_faults.check_lost_rank, errors_faults.check_lookups, errors_faults.check_files)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--tool", required=True)
    options = parser.parse_args()
    errors = Errors()
    with Server(options.server, arguments({"streams.step_tokens_max": 262144})) as server:
        reference = Reference(server.address)
        for check in CHECKS:
            check(errors, options.server, reference)
    errors_faults.check_loading(errors, options.server, options.tool)
    missing = sorted(errors.documented.keys() - errors.provoked.keys())
    assert not missing, f"documented and never provoked: {missing}"
    print(f"{len(errors.provoked)} lines of docs/errors.md provoked by {sum(errors.provoked.values())} bad requests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
