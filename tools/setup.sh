# shellcheck shell=bash
# Sourced by ./run, ./test and tools/check: installs what tools/packages.tsv lists for a purpose, each by name, and says
# what to do where it can't; configures and builds.

# Build folders and checkouts share what was compiled: paths are hashed as seen from the checkout.
export CCACHE_NOHASHDIR=1
export CCACHE_BASEDIR=$PWD
export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-10G}

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

# listed PURPOSE...: the package column of the rows of these purposes, a row a line.
listed() {
  local purpose
  for purpose in "$@"; do
    awk -F '\t' -v purpose="$purpose" '$1 == purpose { print $2 }' tools/packages.tsv
  done
}

# missing_packages PURPOSE...: the rows of which no alternative is installed.
missing_packages() {
  local row installed
  if ! command -v dpkg-query >/dev/null 2>&1; then
    listed "$@"
    return
  fi
  installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' 2>/dev/null | awk '/^ii / { print $2 }')
  listed "$@" | while IFS= read -r row; do
    printf '%s\n' "$installed" | grep -qxE "${row//+/\\+}" || printf '%s\n' "$row"
  done
}

# system_name: "debian 12", or what else this is.
system_name() {
  # shellcheck disable=SC1091
  (. /etc/os-release 2>/dev/null && printf '%s %s' "${ID:-unknown}" "${VERSION_ID:-}") || printf 'unknown system'
}

# names_here ROW...: of each row the first name that this release of Debian has.
names_here() {
  local row name
  for row in "$@"; do
    for name in ${row//|/ }; do
      if apt-cache policy "$name" 2>/dev/null | grep -q 'Candidate: [^(]'; then
        printf '%s ' "$name"
        continue 2
      fi
    done
    printf '%s ' "${row%%|*}"
  done
}

# apt_install ROW...: logs to build/setup.log.
apt_install() {
  local names
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update >>build/setup.log 2>&1 || say "headwater: 'apt-get update' failed (see build/setup.log)"
  names=$(names_here "$@")
  # shellcheck disable=SC2086 # a list of names
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $names >>build/setup.log 2>&1
}

# ensure_packages PURPOSE...: 0 when all that the purposes list is there or could be installed.
ensure_packages() {
  local missing rows
  mkdir -p build
  missing=$(missing_packages "$@")
  [ -z "$missing" ] && return 0
  mapfile -t rows <<<"$missing"
  case $(system_name) in
    "debian 12" | "debian 13") ;;
    *)
      if [ "${HEADWATER_SETUP:-}" = skip ]; then
        return 0
      fi
      say "headwater: this is $(system_name); the set-up knows Debian 12 (bookworm) and Debian 13 (trixie)."
      say "headwater: install what these Debian packages hold, then run again with HEADWATER_SETUP=skip: ${rows[*]}"
      return 1
      ;;
  esac
  say "headwater: installing ${#rows[@]} packages: ${rows[*]}"
  if ! three_times apt_install "${rows[@]}"; then
    tail -5 build/setup.log >&2
    say "headwater: could not install (three tries): ${rows[*]}"
    say "headwater: check the network and the package sources ('apt-get update'), then run this again; the log is build/setup.log"
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

# configure PRESET [OPTION...]: once, and again when an option is not what the folder was made with.
configure() {
  local preset=$1 folder=build/$1 option same=1
  shift
  for option in "$@"; do
    grep -qsxF "${option#-D}" "$folder/CMakeCache.txt" || same=0
  done
  [ -f "$folder/build.ninja" ] && [ "$same" -eq 1 ] && return 0
  mkdir -p build
  cmake --preset "$preset" "$@" >"$folder.configure.log" 2>&1 || {
    cat "$folder.configure.log" >&2
    say "headwater: the $preset build could not be configured; the whole log is $folder.configure.log"
    return 1
  }
}

# build PRESET TARGETS...: builds, quiet when nothing is to do.
build() {
  local preset=$1 folder=build/$1
  shift
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

# compiler_hits: "HITS MISSES" of the compiler's cache so far.
compiler_hits() {
  { ccache --print-stats 2>/dev/null || true; } | awk '
    $1 == "direct_cache_hit" || $1 == "preprocessed_cache_hit" { hits += $2 }
    $1 == "cache_miss" { misses += $2 }
    END { print hits + 0, misses + 0 }'
}
