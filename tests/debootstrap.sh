#!/usr/bin/env bash
# Runs both commands of README.md in a minimal Debian 12 root, as a newcomer has it. By hand and as root; needs
# debootstrap and takes the mirror, proxies and certificates from this machine's own apt, pip and environment settings.
set -euo pipefail

source_tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
root=
mounted=()
network=()  # NAME=VALUE for the environment inside

usage() {
  cat <<'EOF'
Usage: tests/debootstrap.sh ROOT [COMMAND ...]

  ROOT      a folder that does not exist: gets the minimal system and a clone of this repository's HEAD in /root/engram
  COMMAND   run in the clone, one after the other (default: deploy/quickstart.sh tests/run.sh)

The folder stays afterwards. MIRROR=URL in the environment overrides the mirror that apt uses here.
EOF
}

fail() { echo "debootstrap.sh: $*" >&2; exit 1; }

# The first Debian mirror that apt uses here, from one-line or deb822 sources.
mirror() {
  if [ -n "${MIRROR:-}" ]; then
    echo "$MIRROR"
    return
  fi
  { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } |
    sed -n -E -e 's/^URIs:[[:space:]]*([^[:space:]]+).*/\1/p' \
      -e 's/^deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]+).*/\2/p' |
    grep -m 1 '/debian/*$'
}

# Name resolution, proxies, certificates and package indexes as this machine has them.
copy_network_settings() {
  local file name bundle
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  for file in $(grep -l -i -E 'proxy|CAInfo|Verify' /etc/apt/apt.conf /etc/apt/apt.conf.d/* 2>/dev/null || true); do
    cp "$file" "$root/etc/apt/apt.conf.d/"
  done
  bundle=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
  if [ -s "$bundle" ]; then
    cp "$bundle" "$root/etc/host-ca.pem"
    for name in SSL_CERT_FILE PIP_CERT REQUESTS_CA_BUNDLE CURL_CA_BUNDLE; do
      network+=("$name=/etc/host-ca.pem")
    done
  fi
  for file in /etc/pip.conf "$HOME/.pip/pip.conf" "$HOME/.config/pip/pip.conf"; do
    [ ! -s "$file" ] || cp "$file" "$root/etc/pip.conf"
  done
  for name in $(compgen -e); do
    case "$name" in
      PIP_CERT | PIP_FIND_LINKS) ;;
      PIP_* | http_proxy | https_proxy | no_proxy | HTTP_PROXY | HTTPS_PROXY | NO_PROXY) network+=("$name=${!name}") ;;
    esac
  done
}

mount_into() {
  mount "${@:2}" "$root/$1"
  mounted=("$root/$1" "${mounted[@]}")
}

unmount_all() {
  local place
  for place in "${mounted[@]}"; do
    umount "$place" || umount -l "$place"
  done
}

inside() {
  chroot "$root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
    "${network[@]}" bash -c 'cd /root/engram && exec "$@"' bash "$@"
}

run_commands() {
  local command code start
  for command in "$@"; do
    start=$SECONDS
    code=0
    # shellcheck disable=SC2086  # a command may have arguments
    inside $command || code=$?
    echo "debootstrap.sh: $command: exit code $code after $((SECONDS - start)) s"
    [ "$code" = 0 ] || exit "$code"
  done
}

main() {
  case "${1:-}" in
    '' | -h | --help) usage; [ -n "${1:-}" ]; exit ;;
  esac
  [ "$(id -u)" = 0 ] || fail "must run as root (chroot, mount)"
  command -v debootstrap >/dev/null || fail "debootstrap is not installed (Debian package debootstrap)"
  [ ! -e "$1" ] || fail "'$1' exists"
  local from
  from=$(mirror) || fail "no Debian mirror found in /etc/apt/sources.list*; give MIRROR=URL"
  mkdir -p "$1"
  root=$(cd "$1" && pwd)
  shift
  debootstrap --variant=minbase bookworm "$root" "$from" >"$root.log" 2>&1 || {
    tail "$root.log"
    fail "debootstrap failed"
  }
  rm -f "$root.log"
  copy_network_settings
  git clone --quiet --no-hardlinks "$source_tree" "$root/root/engram"
  trap unmount_all EXIT
  mount_into proc -t proc proc
  mount_into sys -t sysfs sys
  mount_into dev --bind /dev
  mount_into dev/shm --bind /dev/shm
  echo "debootstrap.sh: minimal system of $(du -shx "$root" | cut -f1), $(git -C "$source_tree" rev-parse --short HEAD)"
  if [ $# -eq 0 ]; then
    set -- deploy/quickstart.sh tests/run.sh
  fi
  run_commands "$@"
}

main "$@"
