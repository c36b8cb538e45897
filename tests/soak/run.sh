#!/usr/bin/env bash
# The long runs, by hand and on a quiet machine: 50,000 streams cancelled at random, one client that never reads (its
# neighbours keep at least 0.9 of their pace), 64 streams x 8 steps in flight verified for ten minutes, then verify and
# load together, every byte compared, with cancels and reconnects, for ten more.
#   tests/soak/run.sh [--preset NAME] [SOAK_ARGS]      see tests/soak/soak.py --help
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
preset=dev
if [ "${1:-}" = --preset ]; then
  preset=${2:?--preset needs a name}
  shift 2
fi
build=$root/build/$preset
cmake --build "$build" --target engram-server engram stream_soak slow_reader
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec "$root/.venv/bin/python3" "$root/tests/soak/soak.py" --server "$build/bin/engram-server" \
  --tool "$build/bin/engram" --tests "$build/tests" --ratio-min 0.9 "$@"
