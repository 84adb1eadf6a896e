#!/usr/bin/env bash
# Writes constraints.txt anew: the newest versions that pyproject.toml admits, frozen from a fresh
# environment. Run it to update, run `make test`, then commit both or neither.
# torch stays out, and what its builds for GPUs bring: which one is right hangs on the machine
# (docs/decisions/0003). TORCH= names another one.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet "${TORCH:-torch==2.13.0}"
"$work/venv/bin/pip" install --quiet '.[pipeline,bench,dev,services,release,train]'
"$work/venv/bin/pip" freeze --exclude vepa --exclude pip --exclude setuptools \
  | grep -vE '^(torch|triton|nvidia-|cuda-)' | grep -E '^[A-Za-z0-9._-]+==[A-Za-z0-9.+!_-]+$' > "$work/constraints.txt"
cp "$work/constraints.txt" constraints.txt
wc -l constraints.txt
