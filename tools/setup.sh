# Sourced by ./run and ./test: installs what a build or a check needs, each by name, and says what to do where it can't.

readonly HEADWATER_BUILD_PACKAGES="ccache mold ninja-build cmake g++ pkg-config python3
  libboost1.81-dev libsqlite3-dev nlohmann-json3-dev libsimdjson-dev libssl-dev libspdlog-dev libfmt-dev zlib1g-dev
  libzstd-dev libzip-dev zipcmp zipmerge ziptool libtomlplusplus-dev libyaml-cpp-dev libicu-dev libcli11-dev
  libkainjow-mustache-dev libsystemd-dev"
readonly HEADWATER_TEST_PACKAGES="python3-venv libgtest-dev libbenchmark-dev python3-jsonschema openssl curl git"
readonly HEADWATER_FUZZ_PACKAGES="clang-19 libclang-rt-19-dev"
readonly HEADWATER_FORMAT_PACKAGES="clang-format-19 clang-tidy-19"

# Build folders share what was compiled.
export CCACHE_NOHASHDIR=1

say() { printf '%s\n' "$*" >&2; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1; then
    sudo "$@"
  else
    say "headwater: installing packages needs root: run as root, or install sudo, or install these yourself and run again: $*"
    return 1
  fi
}

# three_times COMMAND...: an install may fail for a moment; the third failure is told.
three_times() {
  local try
  for try in 1 2 3; do
    "$@" && return 0
    [ "$try" -lt 3 ] && sleep $((try * 3))
  done
  return 1
}

missing_packages() {
  local package
  for package in $1; do
    dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || printf '%s ' "$package"
  done
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update >/dev/null 2>&1
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $1 >&2
}

# ensure_packages LIST PURPOSE: 0 when all are there or could be installed.
ensure_packages() {
  local missing
  missing=$(missing_packages "$1")
  [ -z "$missing" ] && return 0
  if ! command -v apt-get >/dev/null 2>&1; then
    say "headwater: $2 needs these Debian 12 packages, and this machine has no apt-get: $missing"
    return 1
  fi
  say "headwater: installing for $2: $missing"
  if ! three_times apt_install "$missing"; then
    say "headwater: could not install (three tries): $missing"
    say "headwater: check the network and the package sources ('apt-get update'), then run this again"
    return 1
  fi
}

# A build needs about 1.2 GB a job; a smaller machine builds with fewer jobs, a too small one is told.
build_jobs() {
  local memory_mb cores jobs
  memory_mb=$(awk '/MemAvailable/ {print int($2 / 1024)}' /proc/meminfo)
  cores=$(nproc)
  jobs=$((memory_mb / 1200))
  if [ "$jobs" -lt 1 ]; then
    say "headwater: only ${memory_mb} MB of memory is free; a build needs 1200 MB: stop other programs or add swap"
    jobs=1
  fi
  [ "$jobs" -gt "$cores" ] && jobs=$cores
  printf '%s' "$jobs"
}

# build PRESET TARGETS...: configures once, builds, quiet when nothing is to do.
build() {
  local preset=$1
  shift
  local folder=build/$preset
  if [ ! -f "$folder/build.ninja" ]; then
    cmake --preset "$preset" >"$folder.configure.log" 2>&1 || {
      cat "$folder.configure.log" >&2
      return 1
    }
  fi
  if [ -t 2 ]; then
    ninja -C "$folder" -j "$(build_jobs)" "$@" >&2
  else
    ninja -C "$folder" -j "$(build_jobs)" "$@" >"$folder.build.log" 2>&1 || {
      tail -60 "$folder.build.log" >&2
      say "headwater: the $preset build failed; the whole log is $folder.build.log"
      return 1
    }
  fi
}
