#!/usr/bin/env bash
# Sets the machine up as demo.sh does and runs every test.
#   ./scripts/test.sh [--torch-index URL] [--sanitizers] [--label REGEX]
# --sanitizers also builds the asan and tsan presets and runs their tests.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

SANITIZERS=""
LABEL=()
while [ $# -gt 0 ]; do
  case "$1" in
    --torch-index) TORCH_INDEX="${2:?--torch-index needs a URL}"; shift 2 ;;
    --sanitizers) SANITIZERS=1; shift ;;
    --label) LABEL=(-L "${2:?--label needs a regular expression}"); shift 2 ;;
    -h | --help) sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) fail "unknown argument $1" "./scripts/test.sh --help" ;;
  esac
done

install_packages "${PACKAGES[@]}" "${TEST_PACKAGES[@]}"
make_environment

PASSED=0 FAILED=0 SKIPPED=0
# run_tests PRESET: counts what CTest says of each test.
run_tests() {
  local preset="$1" log
  shift
  log="$(mktemp)"
  say "Testing $preset"
  (cd "$ROOT" && ctest --preset "$preset" "${LABEL[@]}" --no-tests=error) 2>&1 | tee "$log" || true
  PASSED=$((PASSED + $(grep -cE '^ *[0-9]+/[0-9]+ Test +#.* Passed' "$log" || true)))
  SKIPPED=$((SKIPPED + $(grep -cE '^ *[0-9]+/[0-9]+ Test +#.*\*\*\*Skipped' "$log" || true)))
  local bad
  bad=$(grep -E '^ *[0-9]+/[0-9]+ Test +#' "$log" | grep -cvE ' Passed|\*\*\*Skipped' || true)
  # A test program that was not built has no result line of its own.
  grep -qE 'tests passed|No tests' "$log" || bad=$((bad + 1))
  FAILED=$((FAILED + bad))
  rm -f "$log"
}

build ci
run_tests ci
if [ -n "$SANITIZERS" ]; then
  for preset in asan tsan; do
    build "$preset"
    run_tests "$preset"
  done
fi

say "Tests: $PASSED passed, $FAILED failed, $SKIPPED skipped"
echo "$PASSED passed, $FAILED failed"
[ "$FAILED" = 0 ] && [ "$PASSED" -gt 0 ]
