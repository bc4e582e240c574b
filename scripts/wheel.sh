#!/bin/sh
# Build the wheel and install it, with the locked versions of what it needs, into an empty
# environment outside the repository; run the command there. "sh scripts/wheel.sh FILE" also writes
# a bill of materials of that environment (CycloneDX, JSON).
set -eu
cd "$(dirname "$0")/.."
repo=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${PYTHON:-python3}
"$python" -m venv "$work/env"
"$work/env/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work" .
"$work/env/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
  -r requirements.txt
"$work/env/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$work"/crucial-*.whl
cd "$work"
"$work/env/bin/crucial" --version
"$work/env/bin/crucial" demo > demo.txt
tail -n 3 demo.txt
if [ $# -gt 0 ]; then
  case $1 in /*) file=$1 ;; *) file=$repo/$1 ;; esac
  "$python" -m venv "$work/tool"
  "$work/tool/bin/python" -m pip install --quiet --disable-pip-version-check cyclonedx-bom
  "$work/tool/bin/cyclonedx-py" environment --output-reproducible --of JSON -o "$work/bill.json" \
    "$work/env/bin/python"
  mv "$work/bill.json" "$file"
  echo "wrote $1"
fi
