#!/usr/bin/env bash
# Writes constraints.txt anew: the newest versions that pyproject.toml admits, frozen from a fresh
# environment. Run it to update, run `make test`, then commit both or neither.
# The extra `train` stays out: its tested versions hang on the machine's accelerator (docs/decisions/0003).
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet '.[pipeline,bench,dev,services,release]'
"$work/venv/bin/pip" freeze --exclude vepa --exclude pip --exclude setuptools \
  | grep -E '^[A-Za-z0-9._-]+==[A-Za-z0-9.+!_-]+$' > "$work/constraints.txt"
cp "$work/constraints.txt" constraints.txt
wc -l constraints.txt
