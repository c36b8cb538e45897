#!/usr/bin/env bash
# tests/gpu/collect_deps.sh DIR: copies the libraries that the preset `gpu` needs beside CUDA, as this Debian 12 machine
# has them, into DIR, which must not exist or be one of an earlier call. `tests/gpu/run.sh --deps DIR` uses it on a
# machine without these packages, wherever DIR lies there: static libraries, headers and CMake files, about 30 MiB.
#
# ICU comes without its data (31 MB): the GPU tests normalise no text, and what does fails with an error.
set -euo pipefail

packages=(libabsl-dev nlohmann-json3-dev libicu-dev libssl-dev libgtest-dev libgmock-dev g++)

say() { echo "collect_deps: $*"; }

check_packages() {
  local name missing=()
  for name in "${packages[@]}"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null || true)" = installed ] || missing+=("$name")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    say "these packages are not installed here: ${missing[*]}" >&2
    exit 1
  fi
}

# DIR is made anew; nothing but an earlier one of ours is removed.
make_folder() {
  if [ -e "$1" ] && [ ! -f "$1/deps.cmake" ]; then
    say "$1 is there and is none of mine: not touched" >&2
    exit 1
  fi
  rm -rf "$1"
  mkdir -p "$1/include" "$1/lib/$triplet/cmake" "$1/share/cmake"
}

copy_headers() {
  cp -r /usr/include/{absl,nlohmann,unicode,openssl,gtest,gmock} "$1/include/"
  cp -r "/usr/include/$triplet/openssl/." "$1/include/openssl/"
  # Debian 12's abseil counts on <cstdint> coming with other headers; from GCC 13 on it does not.
  local header
  grep -rlE '\bu?int(8|16|32|64)_t\b' "$1/include/absl" | while read -r header; do
    grep -qE '# *include <(cstdint|stdint\.h)>' "$header" || sed -i '1i #include <cstdint>' "$header"
  done
}

# One object with the entry point of ICU's data and no data behind it: a header (its size, magic, UDataInfo of format
# "ToCP") and a table of contents without entries.
stub_icu_data() {
  local folder=$1 version
  version=$(sed -n 's/^#define U_ICU_VERSION_MAJOR_NUM \([0-9]*\)$/\1/p' /usr/include/unicode/uvernum.h)
  cat >"$folder/stub.cc" <<CODE
struct NoData { unsigned short size; unsigned char magic[2]; unsigned short info_size, reserved;
                unsigned char big_endian, charset, char_size, none, format[4], format_version[4], version[4];
                unsigned char padding[8]; unsigned int count[4]; };
extern "C" { extern const NoData icudt${version}_dat; alignas(16) const NoData icudt${version}_dat = {
  32, {0xda, 0x27}, 20, 0, 0, 0, 2, 0, {'T', 'o', 'C', 'P'}, {1, 0, 0, 0}, {0, 0, 0, 0}, {}, {}}; }
CODE
  g++ -c -o "$folder/icu_no_data.o" "$folder/stub.cc"
}

copy_libraries() {
  local from=/usr/lib/$triplet to=$1/lib/$triplet scratch
  cp "$from"/libabsl_*.a "$from"/lib{crypto,icuuc,gtest,gtest_main,gmock,gmock_main}.a "$to/"
  scratch=$(mktemp -d)
  stub_icu_data "$scratch"
  ar q "$to/libicuuc.a" "$scratch/icu_no_data.o"
  ranlib "$to/libicuuc.a"
  rm -r "$scratch"
}

# The packages' own CMake files, which find their prefix by their place. Those of abseil name its shared libraries.
copy_cmake_files() {
  local to=$1/lib/$triplet/cmake
  cp -r "/usr/lib/$triplet/cmake/"{absl,GTest} "$to/"
  cp -r /usr/share/cmake/nlohmann_json "$1/share/cmake/"
  sed -i -E 's/^(add_library\(absl::[a-z0-9_]+) SHARED /\1 STATIC /' "$to/absl/abslTargets.cmake"
  sed -i -E -e '/IMPORTED_SONAME/d' -e 's/\.so\.[0-9.]+"/.a"/' "$to/absl"/abslTargets-*.cmake
}

# The cache that `cmake -C` begins with: these and no others, wherever CMake looked before.
write_deps_file() {
  cat >"$1/deps.cmake" <<CODE
# Made by tests/gpu/collect_deps.sh: where the libraries of this folder are.
set(deps \${CMAKE_CURRENT_LIST_DIR})
set(libraries \${deps}/lib/$triplet)
set(absl_DIR \${libraries}/cmake/absl CACHE PATH "" FORCE)
set(GTest_DIR \${libraries}/cmake/GTest CACHE PATH "" FORCE)
set(nlohmann_json_DIR \${deps}/share/cmake/nlohmann_json CACHE PATH "" FORCE)
set(ICU_INCLUDE_DIR \${deps}/include CACHE PATH "" FORCE)
set(ICU_UC_LIBRARY_RELEASE \${libraries}/libicuuc.a CACHE FILEPATH "" FORCE)
set(OPENSSL_USE_STATIC_LIBS TRUE CACHE BOOL "" FORCE)
set(OPENSSL_INCLUDE_DIR \${deps}/include CACHE PATH "" FORCE)
set(OPENSSL_CRYPTO_LIBRARY \${libraries}/libcrypto.a CACHE FILEPATH "" FORCE)
CODE
}

main() {
  case "${1:-}" in
    '' | -h | --help) sed -n '2,6s/^# \?//p' "${BASH_SOURCE[0]}"; [ -n "${1:-}" ]; exit ;;
  esac
  check_packages
  triplet=$(g++ -print-multiarch)
  make_folder "$1"
  copy_headers "$1"
  copy_libraries "$1"
  copy_cmake_files "$1"
  write_deps_file "$1"
  say "$(du -sm "$1" | cut -f1) MiB in $1"
}

main "$@"
