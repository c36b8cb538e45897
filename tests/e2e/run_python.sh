#!/bin/sh
# run_python.sh PYTHON SCRIPT ARGUMENTS...: 77 (skipped) where that interpreter is missing.
if [ ! -x "$1" ]; then
  echo "SKIPPED: $1 is missing; tests/run.sh makes it from tests/requirements.txt"
  exit 77
fi
exec "$@"
