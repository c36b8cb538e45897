#!/usr/bin/env bash
# Builds the GPU ranks and their tests into build/gpu, and runs them on this machine's GPUs; needs no network.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=build/gpu
deps=
nccl=${NCCL_ROOT:-}
quick=no
tests=yes
sanitizer=yes
bench=yes
failures=()

usage() {
  cat <<'TEXT'
Usage: tests/gpu/run.sh [OPTION...]

Builds what needs few packages (preset gpu, into build/gpu), then runs
  1. every test labelled gpu: in the double, and on the GPUs, which ranks share where they are more
  2. compute-sanitizer (memcheck, racecheck) on the kernels and the tables, where it is installed
  3. bench_gpu, into ${OUT:-build/gpu}/bench_gpu.json

  --deps DIR       libraries from there (tests/gpu/collect_deps.sh makes it on a Debian 12 machine)
  --nccl DIR       prefix of NCCL: include/nccl.h and lib/libnccl* (default: that of the toolkit, of NCCL_ROOT, or of
                   PyPI's nvidia-nccl-cu*)
  --quick          fewer ranks and repetitions
  --no-tests, --no-sanitizer, --no-bench   leave a part out

Exit codes: 0 all is well; 1 something failed; 2 the command line is wrong, or something that is needed is missing;
77 no GPU here: what needs none was built and tested nevertheless.
TEXT
}

say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }
die() { say "$*" >&2; exit 2; }

parse() {
  while [ $# -gt 0 ]; do
    case "$1" in
      --deps | --nccl)
        [ $# -ge 2 ] && [ -d "$2" ] || { usage >&2; die "$1 needs a folder that is there"; }
        if [ "$1" = --deps ]; then deps=$(cd "$2" && pwd); else nccl=$(cd "$2" && pwd); fi
        shift ;;
      --quick) quick=yes ;;
      --no-tests) tests=no ;;
      --no-sanitizer) sanitizer=no ;;
      --no-bench) bench=no ;;
      -h | --help) usage; exit 0 ;;
      *) usage >&2; die "unknown option '$1'" ;;
    esac
    shift
  done
  [ -z "$deps" ] || [ -f "$deps/deps.cmake" ] || die "$deps has no deps.cmake: it was not made by collect_deps.sh"
}

# A tool of the CUDA toolkit: in the PATH, or where toolkits are. Prints nothing without one.
cuda_tool() {
  local home
  command -v "$1" && return 0
  for home in ${CUDA_PATH:+"$CUDA_PATH"} /usr/local/cuda; do
    [ ! -x "$home/bin/$1" ] || { echo "$home/bin/$1"; return 0; }
    [ ! -x "$home/compute-sanitizer/$1" ] || { echo "$home/compute-sanitizer/$1"; return 0; }
  done
}

check_tools() {
  local missing=()
  command -v cmake >/dev/null || missing+=("cmake 3.25 or newer (Debian: cmake; PyPI: cmake)")
  command -v ninja >/dev/null || command -v make >/dev/null || missing+=("ninja or make (Debian: ninja-build)")
  command -v "${CXX:-c++}" >/dev/null || missing+=("a C++20 compiler (Debian: g++)")
  [ -n "$(cuda_tool nvcc)" ] || missing+=("nvcc 12.4 or newer (NVIDIA's CUDA toolkit; CUDA_PATH says where)")
  [ ${#missing[@]} -eq 0 ] || { printf 'missing: %s\n' "${missing[@]}" >&2; die "nothing was built"; }
}

# PyPI's package, unless the toolkit has NCCL or somebody said where it is.
find_nccl() {
  local bin
  bin=$(dirname "$(cuda_tool nvcc)")
  [ -z "$nccl" ] && [ ! -e "$bin/../include/nccl.h" ] && [ ! -e /usr/include/nccl.h ] || return 0
  nccl=$(python3 -c 'import nvidia.nccl as n; print(list(n.__path__)[0])' 2>/dev/null) || nccl=
}

# What both configurations are told: where things are.
places() {
  if [ -n "$deps" ]; then printf '%s\n' -C "$deps/deps.cmake"; fi
  if [ -n "$nccl" ]; then printf '%s\n' "-DNCCL_ROOT=$nccl"; fi
}

check_libraries() {
  local log=$build/packages.log arguments
  mapfile -t arguments < <(places)
  rm -rf "$build/packages"
  mkdir -p "$build"
  cmake "${arguments[@]}" -S tests/gpu/packages -B "$build/packages" >"$log" 2>&1 || { cat "$log"; die "no compiler"; }
  ! grep '^missing: ' "$log" || die "nothing was built"
}

# Code for the cards that are here and no others takes a quarter of the time.
architectures() {
  nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d . | grep -E '^[0-9]+$' | sort -u |
    paste -sd';' || true
}

build() {
  local arguments cards jobs go_on=(-k 0)
  mapfile -t arguments < <(places)
  cards=$(architectures)
  [ -z "$cards" ] || arguments+=("-DCMAKE_CUDA_ARCHITECTURES=$cards")
  command -v ninja >/dev/null || { arguments+=(-G "Unix Makefiles"); go_on=(-k); }
  jobs=$(nproc)
  say "configuring and building into $build${cards:+ for compute capability $cards}, $jobs jobs"
  cmake --preset gpu "${arguments[@]}" >"$build/configure.log" 2>&1 || { cat "$build/configure.log"; exit 1; }
  cmake --build "$build" --target gpu_checked --parallel "$jobs" -- "${go_on[@]}" >"$build/build.log" 2>&1 ||
    { grep -E 'error|FAILED|undefined' "$build/build.log" | head -100; say "FAILED: see $build/build.log"; exit 1; }
}

# part NAME COMMAND...: goes on after a failure, and remembers it.
part() {
  local name=$1
  shift
  say "$name"
  "$@" || { say "FAILED: $name"; failures+=("$name"); }
}

run_tests() {
  local selection=(-L '^gpu$') test
  # Those with many ranks on few cards take minutes.
  [ $quick = no ] || selection+=(-E '^gpu\.gpu_(engine|nccl_contract)_device$')
  part "tests" ctest --test-dir "$build" "${selection[@]}" --no-tests=error --output-on-failure --parallel "$(nproc)"
  [ $quick = yes ] && [ $gpu -eq 0 ] || return 0
  part "NCCL, 2 ranks" "$build/tests/gpu_nccl_contract_device" --gtest_brief=1 --gtest_filter='*/1'
  part "engine, up to 2 ranks" "$build/tests/gpu_engine_device" --gtest_brief=1 \
    --gtest_filter='*/1_*DEVICE:*/2_*DEVICE:*/2_OWNER_GATHER*'
}

# check TOOL PROGRAM FILTER: the API's refusals are some tests' very point; what kernels do is looked at.
check() {
  "$(cuda_tool compute-sanitizer)" --tool "$1" --report-api-errors no --error-exitcode 9 \
    "$build/tests/$2" --gtest_brief=1 --gtest_filter="$3"
}

run_sanitizer() {
  local tool log=$build/sanitizer.log kernels='Gather.*:Dequantize.*:Place.*:CanonicalNan.*:Hash.*-*EveryChunking'
  if [ -z "$(cuda_tool compute-sanitizer)" ]; then
    say "SKIPPED: compute-sanitizer is not installed (part of NVIDIA's CUDA toolkit)"
    return 0
  fi
  check memcheck gpu_kernels_device 'Hash.LiteralKnownAnswerByHand' >"$log" 2>&1 || true
  if grep -q 'Device not supported' "$log"; then
    say "SKIPPED: compute-sanitizer does not support this device here"
    return 0
  fi
  [ $quick = no ] || kernels='Gather.*:Place.*:Hash.LiteralKnownAnswerByHand'
  for tool in memcheck racecheck; do
    part "$tool, kernels" check $tool gpu_kernels_device "$kernels"
    part "$tool, tables" check $tool gpu_device '*Table*:DeviceMemory.*'
  done
}

run_bench() {
  local out=${OUT:-$build} commit
  commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
  mkdir -p "$out"
  local command=("$build/tests/bench_gpu" --commit "$commit" --json "$out/bench_gpu.json")
  [ $quick = no ] || command+=(--quick)
  part "benchmark, into $out/bench_gpu.json" "${command[@]}"
}

main() {
  parse "$@"
  cd "$root"
  check_tools
  find_nccl
  check_libraries
  build
  local gpu=0
  "$build/tests/bench_gpu" --machine || gpu=$?
  [ $tests = no ] || run_tests
  if [ $gpu -eq 0 ]; then
    [ $sanitizer = no ] || run_sanitizer
    [ $bench = no ] || run_bench
  fi
  if [ ${#failures[@]} -gt 0 ]; then
    printf 'FAILED: %s\n' "${failures[@]}"
    exit 1
  fi
  [ $gpu -ne 77 ] || { say "no GPU here: only what needs none was tested"; exit 77; }
  [ $gpu -eq 0 ] || { say "FAILED: the GPU cannot be used (see above)"; exit 1; }
  say "all is well"
}

main "$@"
