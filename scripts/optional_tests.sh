#!/usr/bin/env bash
# Runs the tests of a marker that not every machine can run; says NOT RUN and why where it cannot.
# $1: browser or docker; the rest: the pytest command.
set -uo pipefail
marker=$1
shift

missing() {
  case $marker in
    browser) command -v chromium >/dev/null || command -v google-chrome >/dev/null \
      || echo "no chromium here (Debian: apt-get install chromium)" ;;
    docker) timeout 20 docker info >/dev/null 2>&1 || echo "no container engine answers here" ;;
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
"$@" -m "$marker"
code=$?
if [ "$code" -eq 5 ]; then
  echo "NOT RUN: no $marker tests yet"
  exit 0
fi
exit "$code"
