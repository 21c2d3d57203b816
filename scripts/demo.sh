#!/usr/bin/env bash
# From a clean Debian or Ubuntu machine to a located bug.
#   ./scripts/demo.sh [--torch-index URL] [EXAMPLE]
# EXAMPLE is a folder of examples/; see each one's README.md.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

EXAMPLE=""
while [ $# -gt 0 ]; do
  case "$1" in
    --torch-index) TORCH_INDEX="${2:?--torch-index needs a URL}"; shift 2 ;;
    -h | --help) sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) fail "unknown option $1" "./scripts/demo.sh --help" ;;
    *) EXAMPLE="$1"; shift ;;
  esac
done
EXAMPLE="${EXAMPLE:-rotary_cast}"
[ -f "$ROOT/examples/$EXAMPLE/expected.json" ] ||
  fail "there is no example $EXAMPLE" "one of: $(cd "$ROOT/examples" && ls -d */ | tr -d / | xargs)"

install_packages "${PACKAGES[@]}"
make_environment
build release opguard-mcp

SERVER="$ROOT/build/release/bin/opguard-mcp"
export OPGUARD_HOME="$ROOT/.opguard/demo"
export PATH="$ROOT/.venv/bin:$PATH"

say "Running both sides of examples/$EXAMPLE under capture"
# The request is kept as data beside the example, as a client would send it.
"$PYTHON" "$ROOT/scripts/run_example.py" "$SERVER" "$ROOT/examples/$EXAMPLE" ||
  fail "the demo did not locate the bug" "run it again; if it fails again, report the output above"
