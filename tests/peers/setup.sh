# Sourced by each peer's run.sh: tools of other projects, installed under build/peers, three tries each.
# A peer whose tool cannot be installed is skipped (exit 77): it is not at fault.

peers_root=$PWD/build/peers
mkdir -p "$peers_root"

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
    command -v python3 >/dev/null || skip "$name" "python3 is missing"
    python3 -m venv "$folder" >"$peers_root/$name.install.log" 2>&1 || skip "$name" "python3-venv is missing"
    try_install "$name" "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"
    printf '%s' "$*" >"$folder/installed"
  fi
  PY=$folder/bin/python
}

# node_peer NAME PACKAGE@VERSION...: sets NODE_FOLDER to a folder whose node_modules has them.
node_peer() {
  local name=$1
  shift
  NODE_FOLDER=$peers_root/$name
  command -v npm >/dev/null || skip "$name" "npm is missing"
  if [ "$(cat "$NODE_FOLDER/installed" 2>/dev/null)" != "$*" ]; then
    mkdir -p "$NODE_FOLDER"
    try_install "$name" npm install --silent --no-audit --no-fund --prefix "$NODE_FOLDER" "$@"
    printf '%s' "$*" >"$NODE_FOLDER/installed"
  fi
}
