#!/bin/sh
# Write the locked versions, with the hashes of their files: what the library needs
# (requirements.txt), and what development (requirements-dev.txt), the benchmarks
# (requirements-bench.txt) and the documentation (requirements-docs.txt) do.
# Versions that are there already stay unless pyproject.toml rules them out; "sh scripts/lock.sh
# --upgrade" takes the newest. One file serves every Python that pyproject.toml declares.
set -eu
cd "$(dirname "$0")/.."
.venv/bin/python -m pip install --quiet uv
compile() {
  UV_CUSTOM_COMPILE_COMMAND="make lock" .venv/bin/uv pip compile --quiet --universal --python-version 3.11 \
    --generate-hashes --no-emit-index-url --no-header --strip-extras "$@" pyproject.toml
}
compile --extra dev --output-file requirements-dev.txt "$@"
compile --constraint requirements-dev.txt --output-file requirements.txt "$@"
compile --extra bench --constraint requirements-dev.txt --output-file requirements-bench.txt "$@"
compile --extra docs --constraint requirements-dev.txt --output-file requirements-docs.txt "$@"
