#!/bin/sh
# Write the locked versions for development (requirements-dev.txt), for the
# benchmarks (requirements-bench.txt) and for the documentation (requirements-docs.txt). No index addresses are written.
set -eu
cd "$(dirname "$0")/.."
.venv/bin/python -m pip install --quiet pip-tools
compile() {
  CUSTOM_COMPILE_COMMAND="make lock" .venv/bin/pip-compile --quiet --strip-extras --no-emit-index-url \
    --no-emit-find-links --no-emit-trusted-host --no-emit-options --no-header "$@" pyproject.toml
}
compile --extra dev --output-file requirements-dev.txt
compile --extra bench --constraint requirements-dev.txt --output-file requirements-bench.txt
compile --extra docs --constraint requirements-dev.txt --output-file requirements-docs.txt
