#!/usr/bin/env bash
# Installs the Debian packages listed in FILEs (default: deploy/packages.txt). Does nothing when all are there.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
  echo "Usage: deploy/install-packages.sh [FILE ...]"
  echo "Installs the Debian packages listed in the files (default: deploy/packages.txt), as root or by sudo."
}

# Package names of list files: the first word of each line that is no comment.
names_in() {
  sed -e 's/#.*//' "$@" | awk 'NF {print $1}'
}

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

# Prints the prefix that makes a command run as root; nothing for root itself.
root_prefix() {
  if [ "$(id -u)" = 0 ]; then
    return 0
  fi
  if ! command -v sudo >/dev/null; then
    echo "install-packages: not root and no sudo here. As root, run: apt-get install $*" >&2
    return 1
  fi
  echo sudo
}

# apt-get update and install, quiet unless it fails.
install() {
  local prefix log
  prefix=$(root_prefix "$@")
  log=$(mktemp)
  echo "install-packages: installing $# packages: $*"
  if ! { $prefix apt-get update -qq &&
         $prefix env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; } \
         </dev/null >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "install-packages: apt-get failed (see above)" >&2
    return 1
  fi
  rm -f "$log"
}

main() {
  local lists=("$here/packages.txt") names missing=() name
  case "${1:-}" in
    -h | --help) usage; return 0 ;;
  esac
  if [ $# -gt 0 ]; then
    lists=("$@")
  fi
  names=$(names_in "${lists[@]}")
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    {
      echo "install-packages: this system has no apt-get. Install what these Debian 12 packages hold, then say"
      echo "--no-packages where you called this from:"
      sed -n 's/^\([a-z][^#]*\)#\(.*\)/  \1\2/p' "${lists[@]}"
    } >&2
    return 1
  fi
  for name in $names; do
    is_installed "$name" || missing+=("$name")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    echo "install-packages: all packages are installed"
    return 0
  fi
  install "${missing[@]}"
}

main "$@"
