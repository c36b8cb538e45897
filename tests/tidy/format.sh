#!/usr/bin/env bash
# tests/tidy/format.sh [--check]: lays out all C++ sources by .clang-format, or only says which are not.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if ! command -v clang-format >/dev/null; then
  echo "SKIPPED: clang-format is not installed (Debian package clang-format)"
  exit 77
fi
mode=(-i)
if [ "${1:-}" = --check ]; then
  mode=(--dry-run --Werror)
fi
mapfile -d '' files < <(find model shard server client tests -name build -prune -o \
  \( -name '*.h' -o -name '*.cc' \) -print0 | sort -z)
[ ${#files[@]} -gt 0 ] || { echo "format.sh: found no sources"; exit 1; }
clang-format "${mode[@]}" "${files[@]}"
echo "format: ${#files[@]} files"
