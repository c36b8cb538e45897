#!/usr/bin/env bash
# Builds the preset `bench`, measures, prints one table and writes build/bench/benchmarks.json (docs/benchmarks.md).
#   tests/bench/run.sh [--install] [--rows NAME,...] [--table-gib N] [--quick] [--dir DIR] [--json FILE] [--keep]
# --install: first the Debian packages (tests/bench/packages.txt too) and .venv with tests/requirements.txt.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
if [ "${1:-}" = --install ]; then
  shift
  deploy/install-packages.sh deploy/packages.txt tests/bench/packages.txt
  [ -x .venv/bin/python ] || python3 -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
fi
mkdir -p build/bench
cmake --preset bench >build/bench/configure.log 2>&1 || { cat build/bench/configure.log; exit 1; }
cmake --build --preset bench
exec python3 -B tests/bench/bench.py "$@"
