#!/usr/bin/env bash
# Fills a folder with wheels of the core dependencies and of the build back end, so that the wheel
# test can install VEPA offline. $1: the folder; $2: the Python of the project's environment.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
python=$2
rm -rf "$folder" # wheels of an older set would be picked up
mkdir -p "$folder"
mapfile -t core < <("$python" - <<'PY'
import tomllib

with open("pyproject.toml", "rb") as handle:
    document = tomllib.load(handle)
print("\n".join([*document["project"]["dependencies"], *document["build-system"]["requires"]]))
PY
)
"$python" -m pip wheel --quiet --constraint constraints.txt --wheel-dir "$folder" "${core[@]}"
