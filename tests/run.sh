#!/usr/bin/env bash
# Installs, builds and tests everything; the last output is ctest's summary and the exit code is ctest's.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
packages=yes
selection=(-LE '^sanitize$')
ctest_args=()

usage() {
  cat <<'EOF'
Usage: tests/run.sh [--sanitize | --all] [--no-packages] [-- CTEST_ARGS]

  --sanitize      only the builds with AddressSanitizer, ThreadSanitizer and clang: as long as all the rest together
  --all           those and everything else
  --no-packages   do not install packages (they are there already, or this is not Debian)
  CTEST_ARGS      as ctest takes them, for example: -R golden

ENGRAM_CUDA=ON in the environment: the GPU library must build; OFF: it is left out (default AUTO: where it can).
EOF
}

say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }

parse() {
  while [ $# -gt 0 ]; do
    case "$1" in
      --sanitize) selection=(-L '^sanitize$') ;;
      --all) selection=() ;;
      --no-packages) packages=no ;;
      -h | --help) usage; exit 0 ;;
      --) shift; ctest_args+=("$@"); return ;;
      *) usage >&2; echo "run.sh: unknown option '$1'" >&2; exit 2 ;;
    esac
    shift
  done
}

# .venv with the Python packages of the end-to-end tests. Without them those tests are skipped and say why.
make_venv() {
  local log
  log=$(mktemp)
  if { [ -x .venv/bin/python ] || python3 -m venv .venv; } >"$log" 2>&1 &&
     .venv/bin/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt >>"$log" 2>&1; then
    say "Python packages of tests/requirements.txt are in .venv"
  else
    cat "$log"
    say "WARNING: tests/requirements.txt could not be installed (see above); tests that need it are skipped"
  fi
  rm -f "$log"
}

main() {
  parse "$@"
  cd "$root"
  if [ "$packages" = yes ]; then
    deploy/install-packages.sh deploy/packages.txt tests/packages.txt
  fi
  make_venv
  say "configuring and building the dev preset into build/dev"
  mkdir -p build
  cmake --preset dev -DENGRAM_CUDA="${ENGRAM_CUDA:-AUTO}" >build/configure.log 2>&1 ||
    { cat build/configure.log; exit 1; }
  cmake --build --preset dev
  say "testing"
  # Open MPI refuses to start as root without both; containers and minimal systems have nobody else.
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  exec ctest --preset dev --no-tests=error --parallel 2 "${selection[@]}" "${ctest_args[@]}"
}

main "$@"
