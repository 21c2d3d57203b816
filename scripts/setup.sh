# Sourced by demo.sh and test.sh: system packages, the Python environment, the build. Everything is
# checked first and done only if missing, so that a second run is quick.

set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
PYTHON="$ROOT/.venv/bin/python"
TORCH_VERSION=2.13.0
TORCH_INDEX=""
JOBS="$(nproc)"
export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$JOBS}"

PACKAGES=(g++ cmake ninja-build pkg-config git python3 python3-venv ccache
          nlohmann-json3-dev libcpp-httplib-dev libfmt-dev doctest-dev libsqlite3-dev libcli11-dev
          libspdlog-dev libexpected-dev libzstd-dev libhwy-dev)
TEST_PACKAGES=(libbenchmark-dev librapidcheck-dev clang-format clang-tidy)

say() { printf '\n== %s\n' "$*"; }
fail() {
  printf '\nopguard: %s\n' "$1" >&2
  [ -z "${2:-}" ] || printf 'Fix: %s\n' "$2" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Installs what dpkg does not know as installed.
install_packages() {
  command -v dpkg-query >/dev/null || fail "this is not Debian or Ubuntu: packages cannot be checked" \
    "install the equivalents of: $*, then run cmake --preset release by hand (CONTRIBUTING.md)"
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "Installing ${#missing[@]} packages: ${missing[*]}"
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    fail "missing packages: ${missing[*]}" "as root: apt-get install -y ${missing[*]}"
  fi
  as_root apt-get update -qq || fail "apt-get update failed" "check the network and apt's sources"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null ||
    fail "packages could not be installed: ${missing[*]}" "see apt's message above"
}

# .venv with torch and, for the tests, what drives the server.
make_environment() {
  local wanted="torch==$TORCH_VERSION numpy mcp==2.3.0 jsonschema pytest"
  if [ -x "$PYTHON" ] && [ "$(cat "$ROOT/.venv/opguard-packages" 2>/dev/null)" = "$wanted" ]; then
    return 0
  fi
  say "Making .venv with torch $TORCH_VERSION (one download, some minutes)"
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "python3 is older than 3.10, which torch $TORCH_VERSION needs" "install a newer python3"
  python3 -m venv "$ROOT/.venv" || fail "python3 -m venv failed" "apt-get install python3-venv"
  local index=()
  [ -z "$TORCH_INDEX" ] || index=(--index-url "$TORCH_INDEX")
  # The CPU build where the index has one, else whatever build it serves.
  "$PYTHON" -m pip install -q "${index[@]}" "torch==$TORCH_VERSION+cpu" 2>/dev/null ||
    "$PYTHON" -m pip install -q "${index[@]}" "torch==$TORCH_VERSION" ||
    fail "torch $TORCH_VERSION could not be installed" \
      "check the network, or name an index that serves it: --torch-index URL"
  "$PYTHON" -m pip install -q numpy mcp==2.3.0 jsonschema pytest ||
    fail "the tests' Python packages could not be installed" "check the network"
  printf '%s' "$wanted" >"$ROOT/.venv/opguard-packages"
}

# build PRESET TARGETS...: configures and builds, showing progress.
build() {
  local preset="$1"
  shift
  say "Building $preset${*:+ ($*)}"
  mkdir -p "$ROOT/build"
  (cd "$ROOT" && cmake --preset "$preset" >build/configure.log 2>&1) || {
    tail -20 "$ROOT/build/configure.log" >&2
    fail "CMake could not configure preset $preset" "see build/configure.log"
  }
  (cd "$ROOT" && cmake --build --preset "$preset" ${*:+--target "$@"}) ||
    fail "the build of preset $preset failed" "see the compiler's first error above"
}
