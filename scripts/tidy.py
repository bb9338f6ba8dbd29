#!/usr/bin/env python3
"""Holds what a compiler does not: who may include whom, who may read a clock, how TRY may be used, and that every decision is in the index.

    scripts/tidy.py [ROOT]        prints file:line: what is wrong; exit status 1 if anything is
"""
import pathlib
import re
import sys

# Each folder of src/ and the folders it may include. Everybody may include base and model. A folder that is not listed here is an
# error: a new room needs its place on the way of an alarm.
EDGES = {"config", "probe", "store", "http", "signal", "light", "speech"}
CORE = {"progress", "correlate", "incident", "outbox", "floor"}
BESIDE = {"board", "signature", "wire"}
ASSEMBLIES = {"agent", "gateway", "terminal", "ring", "web", "ctl"}
MAY_INCLUDE = {
    "base": set(),
    "model": set(),
    "board": set(),
    "signature": set(),
    "wire": set(),
    **{name: set() for name in CORE},
    **{name: BESIDE | CORE | EDGES for name in EDGES},
    "web": BESIDE | EDGES | CORE,
    "agent": BESIDE | EDGES | CORE,
    "gateway": BESIDE | EDGES | CORE | {"web"},
    "terminal": BESIDE | EDGES | CORE,
    "ctl": BESIDE | EDGES,
    "ring": BESIDE | EDGES | CORE | {"agent"},
}
EVERYBODY = {"base", "model"}
# plugin/nccl is a guest in someone's training job: of ours it includes these and nothing else, and so do they among themselves.
PLUGIN = "plugin"
FREESTANDING = re.compile(r"board/(layout|words|writer\w*)\.(h|cc)")
# Where time may be read. Everyone else is handed an Instant.
CLOCK_ROOMS = EDGES | ASSEMBLIES
CLOCKS = re.compile(
    r"\b(MonotonicNow|WallNow|MomentNow)\s*\(|[cC]lock::now\s*\(|\b(clock_gettime|gettimeofday|timespec_get)\s*\(|\bstd::time\s*\("
    r"|(?<![.>\w])(time\s*\(\s*(nullptr|NULL|0|&[^()]*)|clock\s*\()\s*\)"
)
BEAST_FILES_MAX = 4
DECISION_ROW = re.compile(r"\| \[([^\]]+)\]\(([\w-]+\.md)\) \|([^|]*)\|$")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')
# What stands before the { of a body: an argument list and what may follow it, a lambda's [] or a keyword.
BEFORE_BODY = re.compile(r"([)\]]\s*(const|noexcept|override|final|mutable|&|\s)*(->[\w:<>,\s*&]+)?|\b(else|do|try))$")
TYPE_HEAD = re.compile(r"\b(namespace|struct|class|enum|union|extern)\b")
SOURCES = ("*.h", "*.cc", "*.c")


def without_comments_and_strings(text):
    """The same number of lines, with comments and string contents blanked."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    strings = r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    characters = r"(?<![0-9a-fA-F])'(?:\\'|\\[^\n']+|[^'\\\n])'"  # not the ' of 1'000
    return re.sub(rf"//[^\n]*|/\*.*?\*/|{strings}|{characters}", blank, text, flags=re.S)


def statements(code):
    """(line, text) of each statement, roughly: cut at ; { and } that stand outside parentheses."""
    depth, start, line, begin_line = 0, 0, 1, 1
    for index, char in enumerate(code):
        if char == "\n":
            line += 1
        if char == "(":
            depth += 1
        elif char == ")":
            depth = max(0, depth - 1)
        elif char == ";" and depth == 0:
            yield begin_line, code[start:index + 1]
            start, begin_line = index + 1, line
            continue
        if start == index and char.isspace():
            start, begin_line = index + 1, line


def braced_tries(code):
    """The line of each TRY whose innermost brace begins an initialiser, wherever between the braces it stands."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda match: re.sub(r"[^\n]", " ", match.group()), code, flags=re.M)
    opened = []  # each ( as None, each { as whether it begins an initialiser
    for match in re.finditer(r"[(){}]|\b(?:CO_)?TRY\(", code):
        token, at = match.group(), match.start()
        if token == "(" or token.endswith("TRY("):
            initialisers = [brace for brace in opened if brace is not None]
            if token != "(" and initialisers and initialisers[-1]:
                yield code.count("\n", 0, at) + 1
            opened.append(None)
        elif token == "{":
            before = code[max(0, at - 400):at].rstrip()
            last = before[-1:]
            if BEFORE_BODY.search(before) or last in ("", ";", "}") or TYPE_HEAD.search(re.split(r"[;{}]", before)[-1]):
                opened.append(False)
            elif last == "{":
                opened.append(bool(opened and opened[-1]))
            else:  # a label ends with a colon, too; a range does so between parentheses
                opened.append(last != ":" or bool(opened and opened[-1] is None))
        elif opened:
            opened.pop()


def wrong_include(path, room, target, quoted):
    """What is wrong with including `target` there; None if nothing is."""
    first = target.split("/")[0]
    if room == PLUGIN or (room == "board" and FREESTANDING.fullmatch(f"board/{path.name}")):
        if "/" in target and (quoted or first in MAY_INCLUDE) and not FREESTANDING.fullmatch(target):
            return "the plugin includes the board's layout and writer, and nothing else of ours"
        return None
    allowed = {"base"} if room == "base" else MAY_INCLUDE[room] | EVERYBODY | {room}
    if "/" in target and first in MAY_INCLUDE and first not in allowed:
        return f"{room}/ may not include {first}/ (includes point down only)"
    return None


def check_file(path, room, report):
    raw = path.read_text(encoding="utf-8")
    code = without_comments_and_strings(raw)
    is_test = path.name.endswith("_test.cc") or "testing" in path.stem
    for number, line in enumerate(raw.splitlines(), 1):
        match = INCLUDE.match(line)
        wrong = match and room and not is_test and wrong_include(path, room, match.group(1), '"' in line)
        if wrong:
            report(path, number, wrong)
    if room and room not in CLOCK_ROOMS and not is_test and not (room == "base" and path.stem == "clock"):
        for match in CLOCKS.finditer(code):
            report(path, code.count("\n", 0, match.start()) + 1, "reads a clock outside the shell: take an Instant instead")
    for number in braced_tries(code):
        report(path, number, "TRY inside a braced initialiser leaks in both compilers: name the value first")
    for number, text in statements(code):
        if text.lstrip().startswith("#"):
            continue
        if len(re.findall(r"\b(?:CO_)?TRY\(", text.rsplit("{", 1)[-1])) > 1:
            report(path, number, "two TRYs in one statement: one to a statement")
        tail = re.split(r"[{}]", text)[-1] if "co_await" not in text else text
        if "co_await" in tail and re.search(r"\b(?:CO_)?TRY\(|co_await[^;]*\{[^}]*\}|\?[^:;]*co_await|co_await[^;]*\?[^;]*:", tail):
            report(path, number, "co_await with TRY, {…} or ?: in one statement: GCC 12 miscompiles it")


def check_decisions(folder, report):
    """Every decision has one line in the index, under its own title, and the index no other."""
    index = folder / "README.md"
    if not folder.is_dir():
        return
    rows = {}
    for number, line in enumerate(index.read_text(encoding="utf-8").splitlines() if index.exists() else [], 1):
        match = DECISION_ROW.match(line)
        if not match:
            continue
        title, name, clause = match.groups()
        if not clause.strip():
            report(index, number, "a line without a clause")
        if name in rows:
            report(index, number, f"{name} stands here twice")
        rows[name] = title
        if not (folder / name).exists():
            report(index, number, f"there is no decision {name}")
    for path in sorted(folder.glob("*.md")):
        if path == index:
            continue
        title = path.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
        if path.name not in rows:
            report(path, 1, f"has no line in the index: | [{title}]({path.name}) | what it says, in a clause |")
        elif rows[path.name] != title:
            report(path, 1, f"is called '{title}' here and '{rows[path.name]}' in the index")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    problems = []

    def report(path, number, words):
        problems.append(f"{path.relative_to(root)}:{number}: {words}")

    beast = []
    for pattern in SOURCES:
        for top in ("src", "apps", "plugin", "fuzz", "bench", "tests"):
            for path in sorted((root / top).rglob(pattern)):
                parts = path.relative_to(root).parts
                room = parts[1] if top == "src" and len(parts) > 2 else None
                if top == "plugin" and "tests" not in parts:
                    room = PLUGIN
                elif room and room not in MAY_INCLUDE:
                    report(path, 1, f"src/{room}/ has no place in scripts/tidy.py: give it one")
                    continue
                check_file(path, room, report)
                if "boost/beast" in path.read_text(encoding="utf-8") and path.suffix != ".h":
                    beast.append(path)
                if path.suffix == ".h" and "#pragma once" not in path.read_text(encoding="utf-8") and top != "plugin":
                    report(path, 1, "a header without #pragma once")
    for folder in (root / "src").iterdir():
        if folder.is_dir() and not (folder / "CMakeLists.txt").exists():
            report(folder, 1, "an empty room: no CMakeLists.txt")
    check_decisions(root / "docs" / "decisions", report)
    if len(beast) > BEAST_FILES_MAX:
        report(beast[-1], 1, f"{len(beast)} files include Boost.Beast; {BEAST_FILES_MAX} at most (each costs 25 s to compile)")
    print("\n".join(problems) if problems else "tidy: nothing to say")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
