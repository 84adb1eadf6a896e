#!/usr/bin/env bash
# Runs the tests of a marker that not every machine can run; says NOT RUN and why where it cannot.
# $1: browser or docker; the rest: the pytest command.
set -uo pipefail
marker=$1
shift

# An engine that answers is used; otherwise one is started for the tests and stopped after them.
start_engine() {
  host=$(scripts/docker_engine.sh status 2>/dev/null) || {
    trap 'scripts/docker_engine.sh stop' EXIT
    trap 'exit 130' INT TERM
    host=$(scripts/docker_engine.sh start)
  }
}

missing() {
  case $marker in
    browser) command -v chromium >/dev/null || command -v google-chrome >/dev/null \
      || echo "no chromium here (Debian: apt-get install chromium)" ;;
  esac
}

# As a decorator or in `pytestmark`; a mere mention in a string does not count.
if ! grep -rqsE --include='*.py' "^\s*(@|pytestmark.*)?pytest\.mark\.$marker\b" tests; then
  echo "NOT RUN: no $marker tests yet"
  exit 0
fi
why=$(missing)
if [ -n "$why" ]; then
  echo "NOT RUN: $why"
  exit 0
fi
if [ "$marker" = docker ]; then
  if ! start_engine; then
    echo "${host:-NOT RUN: no container engine can be started here}"
    exit 0
  fi
  export "${host?}" # DOCKER_HOST=...
fi
"$@" -m "$marker"
code=$?
if [ "$code" -eq 5 ]; then
  echo "NOT RUN: no $marker tests yet"
  exit 0
fi
exit "$code"
