#!/usr/bin/env bash
# Makes the virtual environment $1, and says what to do where the system's Python cannot.
set -euo pipefail
target=$1
python=${PYTHON:-python3}

if ! command -v "$python" >/dev/null; then
  echo "No $python found. Remedy: apt-get install python3 python3-venv" >&2
  exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "VEPA needs Python 3.11 or newer; $python is $("$python" -V 2>&1)." >&2
  echo "Remedy: make PYTHON=python3.12 … (any newer interpreter)" >&2
  exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  echo "Python's venv module is not complete here. Remedy: apt-get install python3-venv" >&2
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then exit 1; fi
  echo "Running as root on Debian: installing python3-venv now." >&2
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq </dev/null >/dev/null
  apt-get install -y -qq --no-install-recommends python3-venv </dev/null >/dev/null
fi
rm -rf "$target"
"$python" -m venv "$target"
