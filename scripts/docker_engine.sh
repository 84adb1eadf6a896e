#!/usr/bin/env bash
# A real container engine for the tests, where this machine can run one (root on Debian).
#   scripts/docker_engine.sh start    prints DOCKER_HOST=... of an engine that answers; when none
#                                     does, starts one of its own below VEPA_DOCKER_DIR
#   scripts/docker_engine.sh stop     stops its own engine and unmounts and removes what it made,
#                                     but for the cached archive of the base image
#   scripts/docker_engine.sh status   prints DOCKER_HOST=... when an engine answers
# Exit codes: 0 fine, 1 no engine answers (status) or it would not stop, 3 "NOT RUN: why".
# VEPA_DOCKER_DIR: the folder (default .cache/docker). Only DOCKER_HOST=... and NOT RUN go to stdout,
# the rest to stderr; nothing of the engine is reachable but through its socket.
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
folder=${VEPA_DOCKER_DIR:-$here/.cache/docker}
case $folder in /*) ;; *) folder=$here/$folder ;; esac

# The one image that the project's own images start from.
base=python:3.11-slim
suite=bookworm # the Debian release whose Python is the base's
programs=python3,python-is-python3,python3-pip,git,ca-certificates
archive=$folder/base-$suite.tar

say() { echo "$*" >&2; }
not_run() {
  echo "NOT RUN: $*"
  exit 3
}
ask() { timeout 20 docker -H "$1" "${@:2}"; }
answers() { command -v docker >/dev/null && ask "$1" version --format '{{.Server.Version}}' >/dev/null 2>&1; }

# A socket's path has to be short, the folder's need not be: a long one is reached through a link.
short() {
  if [ "${#folder}" -le 60 ]; then
    echo "$folder"
  else
    echo "/tmp/vepa-docker-$(printf %s "$folder" | sha256sum | cut -c1-12)"
  fi
}

own_host() { echo "unix://$(short)/docker.sock"; }

# The engine that the caller has anyway: DOCKER_HOST, or the default socket.
given_host() {
  if [ -n "${DOCKER_HOST:-}" ]; then
    answers "$DOCKER_HOST" && echo "$DOCKER_HOST" && return 0
    say "no engine answers at DOCKER_HOST"
    false
  elif [ -S /var/run/docker.sock ]; then
    answers unix:///var/run/docker.sock && echo unix:///var/run/docker.sock
  else
    false
  fi
}

owned() { # the process of the pid file, when it is this folder's engine and no later process
  local pid
  pid=$(cat "$folder/dockerd.pid" 2>/dev/null) || return 1
  [ -n "$pid" ] && [ -r "/proc/$pid/cmdline" ] || return 1
  tr '\0' ' ' <"/proc/$pid/cmdline" | grep -qF -- "--data-root $(short)/data" && echo "$pid"
}

install_packages() {
  local absent=()
  command -v dockerd >/dev/null || absent+=(docker.io)
  command -v docker >/dev/null || absent+=(docker.io)
  command -v iptables >/dev/null || absent+=(iptables) # dockerd asks for it even where it is off
  command -v debootstrap >/dev/null || absent+=(debootstrap)
  [ "${#absent[@]}" -eq 0 ] && return 0
  command -v apt-get >/dev/null || not_run "no ${absent[*]} here, and no apt-get to install them"
  say "installing ${absent[*]}"
  export DEBIAN_FRONTEND=noninteractive
  # No service is started by the package: the engine of this script is the only one.
  local policy=/usr/sbin/policy-rc.d made=
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy" && made=1
  fi
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${absent[@]}"; } \
    </dev/null >"$folder/apt.log" 2>&1
  local code=$?
  if [ -n "$made" ]; then rm -f "$policy"; fi
  [ "$code" -eq 0 ] || not_run "apt-get could not install ${absent[*]}: $(tail -n 1 "$folder/apt.log")"
}

launch() { # $1: storage driver; true once it answers
  local at host
  at=$(short)
  host=$(own_host)
  rm -f "$folder/dockerd.pid" "$folder/docker.sock"
  echo '{}' >"$folder/daemon.json" # the machine's own settings are for another engine
  setsid nohup dockerd -H "$host" --data-root "$at/data" --exec-root "$at/exec" \
    --pidfile "$at/dockerd.pid" --storage-driver "$1" --iptables=false --ip6tables=false \
    --ip-forward=false --ip-masq=false --bridge=none --config-file "$at/daemon.json" \
    </dev/null >"$folder/dockerd-$1.log" 2>&1 &
  local job=$!
  for _ in $(seq 150); do
    if answers "$host"; then return 0; fi
    kill -0 "$job" 2>/dev/null || return 1
    sleep 0.2
  done
  kill "$job" 2>/dev/null
  wait "$job" 2>/dev/null
  return 1
}

why_not() { grep -v -E 'level=(info|debug|warning)' "$folder/dockerd-$1.log" | tail -n 1 | cut -c1-300; }

mirror() { # Debian's mirror, as apt on this machine is told to use it
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null \
    | awk -v suite="$suite" '$2 == suite && $3 == "main" {print $1; exit}'
}

make_archive() {
  local from root=$folder/root
  from=$(mirror)
  [ -n "$from" ] || not_run "no image registry answers, and apt knows no mirror of Debian $suite"
  say "no image registry answers: making $base from Debian $suite"
  rm -rf "$root"
  if ! debootstrap --variant=minbase --include="$programs" "$suite" "$root" "$from" \
    </dev/null >"$folder/debootstrap.log" 2>&1; then
    rm -rf "$root"
    not_run "debootstrap failed: $(tail -n 1 "$folder/debootstrap.log")"
  fi
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale,info}/*
  tar -C "$root" -cf "$archive.part" . && mv "$archive.part" "$archive"
  local code=$?
  rm -rf "$root"
  [ "$code" -eq 0 ] || not_run "the base image could not be packed"
}

give_base() { # $1: host
  ask "$1" image inspect "$base" >/dev/null 2>&1 && return 0
  if [ ! -e "$archive" ]; then
    timeout 120 docker -H "$1" pull -q "$base" >/dev/null 2>&1 && return 0
    make_archive
  fi
  timeout 300 docker -H "$1" import --change 'CMD ["python3"]' "$archive" "$base" >/dev/null \
    || not_run "the base image could not be loaded"
}

start() {
  local host driver
  if host=$(given_host); then
    say "an engine answers already: it is used, and left as it is"
    echo "DOCKER_HOST=$host"
    return 0
  fi
  host=$(own_host)
  if [ -n "$(owned)" ] && answers "$host"; then
    echo "DOCKER_HOST=$host"
    return 0
  fi
  [ "$(uname -s)" = Linux ] || not_run "an engine of our own needs Linux"
  [ "$(id -u)" -eq 0 ] || not_run "no engine answers, and only root can start one"
  mkdir -p "$folder" || not_run "$folder cannot be made"
  clear_up
  [ "$(short)" = "$folder" ] || ln -sfn "$folder" "$(short)"
  install_packages
  for driver in overlay2 vfs; do
    if launch "$driver"; then break; fi
    say "no engine with the storage driver $driver: $(why_not "$driver")"
    clear_up
  done
  answers "$host" || not_run "the engine does not start here: $(why_not vfs)"
  [ "$driver" = overlay2 ] || say "storage driver $driver: slower, and it takes more room"
  trap 'code=$?; [ "$code" -eq 0 ] || { halt; clear_up; }' EXIT
  give_base "$host"
  echo "DOCKER_HOST=$host"
}

halt() { # asks the engine to end; kills it when it does not
  local pid
  pid=$(owned) || return 0
  kill "$pid"
  for _ in $(seq 100); do
    [ -n "$(owned)" ] || return 0
    sleep 0.2
  done
  say "the engine does not end by itself: it is killed"
  kill -9 "$pid"
  sleep 1
  [ -z "$(owned)" ]
}

helpers() { # processes of containerd whose command line names a folder of this engine
  local place exe
  for place in /proc/[0-9]*; do
    exe=$(readlink "$place/exe" 2>/dev/null) || continue
    case $exe in */containerd*) ;; *) continue ;; esac
    tr '\0' ' ' <"$place/cmdline" | grep -qF -e "$1/exec/" -e "$2/exec/" && echo "${place#/proc/}"
  done
}

clear_up() { # what an engine left: its helpers' processes, bridges, sockets, mounts and data
  local at place pid link id
  at=$(short)
  # containerd, its shims and their containers outlive a killed dockerd.
  for pid in $(helpers "$folder" "$at"); do
    # shellcheck disable=SC2046
    kill -9 $(pgrep -P "$pid") "$pid" 2>/dev/null
  done
  # An engine that ended by itself has removed these; a killed one has not.
  grep -aohE 'br-[0-9a-f]{12}' "$folder/data/network/files/local-kv.db" 2>/dev/null | sort -u \
    | while read -r link; do ip link delete "$link" 2>/dev/null; done
  for place in "$folder"/data/containers/*; do
    id=${place##*/}
    rm -f "/run/containerd/s/$(printf %s "$at/exec/containerd/containerd.sock/moby/$id" | sha256sum | cut -d' ' -f1)"
    rmdir "/sys/fs/cgroup/docker/$id" /sys/fs/cgroup/*/docker/"$id" 2>/dev/null
  done
  # The deepest first; the link's path never stands in the table of mounts.
  awk '{print $5}' /proc/self/mountinfo | grep -F -- "$(realpath "$folder")/" | sort -r \
    | while read -r place; do umount "$place" 2>/dev/null || umount -l "$place"; done
  rm -rf "$folder/data" "$folder/exec" "$folder/root" "$folder/docker.sock" "$folder/dockerd.pid"
  if [ "$at" != "$folder" ]; then rm -f "$at"; fi
  rmdir /sys/fs/cgroup/docker /sys/fs/cgroup/*/docker 2>/dev/null # empty ones only
}

stop() {
  trap "" INT TERM HUP # half a stop would leave mounts
  [ -d "$folder" ] || return 0
  local containers host
  host=$(own_host)
  if [ -n "$(owned)" ] && answers "$host"; then
    containers=$(ask "$host" ps -aq)
    # shellcheck disable=SC2086
    if [ -n "$containers" ]; then timeout 60 docker -H "$host" rm -f $containers >/dev/null 2>&1; fi
  fi
  halt || { say "the engine cannot be stopped"; exit 1; }
  clear_up
  rm -f "$folder"/*.log "$folder/daemon.json"
}

status() {
  local host
  if host=$(given_host); then
    say "an engine answers"
  elif host=$(own_host) && [ -n "$(owned)" ] && answers "$host"; then
    say "the engine of $folder answers"
  else
    say "no container engine answers here"
    exit 1
  fi
  echo "DOCKER_HOST=$host"
}

case ${1:-} in
  start | stop | status) "$1" ;;
  *) say "usage: $0 start | stop | status" && exit 2 ;;
esac
