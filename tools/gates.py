"""Gates over a folder's text, each a function that gives sentences on what is wrong; see tools/check.

gates.py GATE ROOT            exit 1 and a sentence a fault
gates.py list ROOT PATTERN... the files of a folder without git
gates.py scripts ROOT         the shell scripts, for shellcheck
"""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

TOO_LONG = 700
CODE = (".cpp", ".hpp", ".py", ".sh", ".cmake", ".sql", ".js", ".cjs", ".mjs", ".css", ".mustache")
# What every Debian root has, minimal ones too: packages of priority required and what they bring.
ALWAYS_THERE = set("""
    apt-cache apt-get awk basename bash cat chmod chroot cp cut date dd df dirname dpkg dpkg-query du env find getent
    grep gzip head id install ln ls md5sum mkdir mkfifo mktemp mount mv nproc od paste perl printf pwd readlink realpath
    rm rmdir sed seq sh sha256sum sleep sort stat su tail tar tee test timeout touch tr true uname uniq unshare wc xargs
    """.split())
# Words of the shell itself.
SHELL_WORDS = set("""
    . : [ [[ alias bg break builtin case cd command continue declare do done echo elif else esac eval exec exit export
    false fg fi for function getopts hash help if in jobs kill let local mapfile popd printf pushd pwd read readarray
    readonly return select set shift shopt source test then time times trap true type typeset ulimit umask unalias unset
    until wait while { } !
    """.split())


def files(root):
    """Paths under root, as git lists them where root is a checkout."""
    if (root / ".git").exists():
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                capture_output=True, text=True, check=True).stdout.split("\0")
        return sorted(path for path in listed if path and (root / path).is_file())
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in ("build", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)


def text(root, path):
    """A file's text, "" for one that is not text."""
    try:
        return (root / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def is_shell(root, path):
    if pathlib.PurePath(path).suffix == ".sh":
        return True
    return "." not in os.path.basename(path) and re.match(r"#!.*\b(ba)?sh\b", text(root, path)[:80]) is not None


def room_of(path):
    """The folder that CONTRIBUTING.md's table speaks of; "" for a file beside the rooms."""
    parts = path.split("/")
    if parts[0] == "daemon" and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0] if len(parts) > 1 else ""


def allowed_arrows(root):
    """{room: rooms and files that it may include}, from the table of CONTRIBUTING.md: a row names single rooms and
    files, or says "all above"."""
    allowed = {}
    for line in text(root, "CONTRIBUTING.md").splitlines():
        row = re.match(r"\| `([a-z0-9_/]+?)/` \| .* \| ([^|]*) \|$", line)
        if row:
            named = set(re.findall(r"`([a-z0-9_./]+?)/?`", row.group(2)))
            if "all above" in row.group(2):
                named |= set(allowed)
            allowed[row.group(1)] = named
    return allowed


def arrows(root):
    allowed = allowed_arrows(root)
    if not allowed:
        yield "CONTRIBUTING.md: has no table of rooms (| `room/` | holds | may include |)"
        return
    for path in files(root):
        room = room_of(path)
        if not path.endswith((".cpp", ".hpp", ".in")) or room in ("", "tests", "tools", "docs"):
            continue
        if path == "daemon/main.cpp":
            room = "daemon/cli"
        for number, line in enumerate(text(root, path).splitlines(), 1):
            found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not found or room_of(found.group(1)) in ("", room):
                continue
            target = room_of(found.group(1))
            if room not in allowed:
                yield f"{path}:{number}: the room {room}/ is not in CONTRIBUTING.md's table"
            elif target not in allowed[room] and found.group(1) not in allowed[room]:
                yield (f"{path}:{number}: {room}/ may not include {found.group(1)} (CONTRIBUTING.md, table of rooms): "
                       f"move what is needed to a room below both, or pass it in as a value")


def version(root):
    stated = re.search(r"project\(headwater VERSION ([0-9.]+)", text(root, "CMakeLists.txt"))
    if not stated:
        yield "CMakeLists.txt: project(headwater VERSION ...) is missing"
        return
    number = re.compile(rf"(?<![0-9.]){re.escape(stated.group(1))}(?![0-9.]*[0-9])")
    for path in files(root):
        if path == "CMakeLists.txt" or path.startswith("tests/"):
            continue
        for line_number, line in enumerate(text(root, path).splitlines(), 1):
            if number.search(line):
                yield (f"{path}:{line_number}: states the version {stated.group(1)} again; take it from "
                       f"schemas/version.hpp (or from CMake's PROJECT_VERSION)")


def length(root):
    for path in files(root):
        if path.endswith(CODE) or is_shell(root, path) or os.path.basename(path) == "CMakeLists.txt":
            lines = text(root, path).count("\n")
            if lines > TOO_LONG:
                yield f"{path}: {lines} lines, {TOO_LONG} are the most: part it by what its parts do"


def coroutines(root):
    for path in files(root):
        if not path.endswith((".cpp", ".hpp")):
            continue
        for number, line in enumerate(text(root, path).splitlines(), 1):
            code = re.sub(r'"(\\.|[^"\\])*"', '""', line.split("//")[0])
            if re.search(r"co_await[^;]*(\?|[a-zA-Z_0-9(,]\s*\{)", code):
                yield f"{path}:{number}: braces or ?: in an expression with co_await: name the value on a line before"


def packages(root):
    rows = [line.split("\t") for line in text(root, "tools/packages.tsv").splitlines() if line and line[0] != "#"]
    for row in rows:
        if len(row) != 4:
            yield f"tools/packages.tsv: a row has {len(row)} columns, 4 are wanted: {' | '.join(row)}"
            return
    # The README's table names each package that a build or a test brings in, with the same words.
    readme = {package.replace("` or `", "|"): words for package, words in
              re.findall(r"^\| `([a-z0-9.+` -]+)` \| (.*) \|$", text(root, "README.md"), re.MULTILINE)}
    for purpose, package, _, brings in rows:
        if purpose not in ("build", "test"):
            continue
        if readme.get(package) != brings:
            yield f"README.md: its table of packages lacks the row | `{package.replace('|', '` or `')}` | {brings} |"
    listed = {row[1] for row in rows if row[0] in ("build", "test")}
    for package in readme:
        if package not in listed and re.match(r"(lib|python3-)", package):
            yield f"README.md: names the package {package}, which tools/packages.tsv does not list for build or test"
    # The build asks through the list alone.
    for path in files(root):
        if os.path.basename(path) == "CMakeLists.txt" or path.endswith(".cmake"):
            for found in re.finditer(r"(find_package|pkg_check_modules|find_path|find_library)\((\w+)", text(root, path)):
                if path != "cmake/dependencies.cmake" and found.group(2) != "Threads":
                    yield f"{path}: {found.group(0)}...) asks for what tools/packages.tsv does not list: add a row there"
    # Each program that a script calls is listed, or every Debian has it.
    programs = {how.split(":", 1)[1] for row in rows for how in row[2].split(" , ") if how.startswith("command:")}
    scripts = [path for path in files(root) if is_shell(root, path)]
    ours = {name for path in scripts if path.endswith("setup.sh")
            for name in functions_of(text(root, path)) | asked_for(text(root, path))}
    known = programs | ALWAYS_THERE | SHELL_WORDS | ours
    for path in scripts:
        for word, number in called(text(root, path)):
            if word not in known | functions_of(text(root, path)) | asked_for(text(root, path)):
                yield (f"{path}:{number}: calls {word}, which no package of tools/packages.tsv brings "
                       f"(command:{word}) and the script does not ask for (command -v {word})")


def functions_of(script):
    return set(re.findall(r"^\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*\(\)", script, re.MULTILINE))


def asked_for(script):
    """Programs that a script looks for before it uses them, and says what to do where they are missing."""
    return set(re.findall(r"command -v ([a-zA-Z0-9_.+-]+)", script))


def called(script):
    """(word, line) of what stands where a command may stand in a shell script: a plain reading, enough for our own."""
    script = re.sub(r"\\\n", "  ", script)
    number, end_of_text = 0, None
    for line in script.split("\n"):
        number += 1
        if end_of_text is not None:
            if line.strip() == end_of_text:
                end_of_text = None
            continue
        here = re.search(r"<<-?\s*['\"]?([A-Z_]+)['\"]?", line)
        if here and "<<<" not in line:
            end_of_text = here.group(1)
        line = re.sub(r"(^|\s)#.*$", "", line)
        line = re.sub(r"\$\(\([^()]*\)\)|\$\{[^{}]*\}", "X", line)
        inner = re.findall(r"\$\(([^()]*)\)", line)
        plain = re.sub(r"'[^']*'", "''", line)
        plain = re.sub(r"\$\([^()]*\)", "X", plain)
        plain = re.sub(r'"[^"]*"', '""', plain)
        if re.match(r"^\s*[^()\s]+(\s*\|\s*[^()\s]+)*\)", plain):
            plain = plain.split(")", 1)[1]
        for piece in [plain] + [re.sub(r'"[^"]*"|\'[^\']*\'', '""', part) for part in inner]:
            for command in re.split(r"\|\||&&|[;|&(]|\bthen\b|\bdo\b|\belse\b|\bif\b|\bwhile\b|\buntil\b", piece):
                words = [word for word in command.split() if not re.match(r"^[A-Za-z_][A-Za-z0-9_]*\+?=", word)]
                while words and words[0] in ("!", "exec", "command", "env", "time", "{", "nice", "sudo", "as_root"):
                    words = [word for word in words[1:] if not re.match(r"^-|^[A-Za-z_][A-Za-z0-9_]*=", word)]
                if words and words[0] == "for":
                    continue
                if words and re.match(r"^[a-z][a-zA-Z0-9_.+-]*$", words[0]):
                    yield words[0], number


GATES = {"arrows": arrows, "version": version, "length": length, "coroutines": coroutines, "packages": packages}


def main():
    gate, root = sys.argv[1], pathlib.Path(sys.argv[2])
    if gate == "list":
        print("\n".join(path for path in files(root) if any(fnmatch.fnmatch(path, one) for one in sys.argv[3:])))
        return 0
    if gate == "scripts":
        print("\n".join(path for path in files(root) if is_shell(root, path)))
        return 0
    faults = list(GATES[gate](root))
    for fault in faults:
        print(f"{gate}: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
