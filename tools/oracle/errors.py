"""Makes ``data/errors``: what released programs raise and log, as patterns with the names of their values.

    python -m tools.oracle.errors [PROGRAM ...] [--repo PROGRAM=GITDIR ...] [--into data/errors]

Releases of packages come from the index that pip is set to (wheels or source distributions, opened, never
installed); of programs that no index has, from a git directory (``--repo``) at its tags. Without PROGRAM all
are made, those of repositories where ``--repo`` names them. Which releases and files: ``errors.yaml``.
"""

import argparse
import csv
import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from recommender.diagnosis.statements import FIELDS, GAP, LEVELS, anchors_of
from tools.oracle.archives import archive_files, tag_files
from tools.oracle.c_statements import c_statements
from tools.oracle.python_statements import RAISED, Statement, percent_template, python_statements

ROOT = Path(__file__).resolve().parents[2]
MOST_WORDS = 10
"""Words of literal text that a pattern keeps: those nearest to its values, and its first ones."""
LEAST_WORDS = 3
MOST_SLOTS = 8
_PASSED = re.compile(
    r"(?:^|/)(?:tests?|testing|benchmarks?|examples?|docs?|third_?party|"
    r"vllm_flash_attn|tool_parsers?|"
    r"function_call|reasoning|kernels?|ops|jit_kernel|triton_ops|fla|cute|flash_attn\w*|templates?|csrc/cutlass|unittest|test_utils)(?:/|$)|(?:^|/)(?:conf)?test_?\w*\.py$"
)
_SOURCES = re.compile(r"\.(?:py|cpp|cc|c|h|cu|cuh)$|error_code\.json$")
_CODE_TABLE = re.compile(
    r'"errTitle": *"(?P<title>\w+)", *\n? *"ErrCode": *"(?P<code>\w+)",\s*'
    r'"ErrMessage": *"(?P<text>(?:[^"\\]|\\.)*)",\s*"Arglist": *"(?P<names>[^"]*)"'
)
"""An entry of CANN's tables of codes."""
_STATE = re.compile(
    r"(?i)memory|cache|running|waiting|preempt|retract|throughput|#|blocks|concurrency|capturing|acceptance|"
    r"tokens|loading|elapsed|queue|GiB|GB|mem\b"
)


_INSTALLED = re.compile(r"(?<!\S)/(?:opt|usr|home|root|mnt|data|tmp)/[^\s)]+")
"""A place on somebody's machine: it says nothing of the fault."""
_SENTENCE = re.compile(r"(?<!\{)\{\w*(?:msg|message|hint|suffix|note|reasons?|advice)\}")
"""Values that are sentences."""
_SETTING = re.compile(
    r"(?<![\w-])--?[a-z][\w-]+|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|`[\w.-]+`|\b[a-z]+(?:_[a-z0-9]+){2,}\b(?!\})"
)
_FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]+|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")
_RESOURCE = re.compile(
    r"(?i)\bmemory|out of |\boom\b|time(?:d )?-?out|killed|\bdied\b|\bdead\b|terminat|"
    r"shut(?:ting)? ?down|unhealthy|no space|\bport\b|connect|\bnan\b|not enough|capacity|exceed|"
    r"too (?:long|large|small|many)|divisible|driver|divide|insufficient|"
    r"preempt|retract|kv ?cache|unresponsive|context length|heads|world size|parallel|overflow"
)
_TENSOR = re.compile(
    r"(?i)\bshapes?\b|dtype|stride|contiguous|\bdims?\b|tensors?\b|ndim|\b[234]-?D\b|layout|\btype\b|instance|"
    r"dimension"
)
_INNER = frozenset({
    "AssertionError", "TypeError", "NotImplementedError", "AttributeError", "KeyError", "IndexError",
    "ImportError", "NameError", "ModuleNotFoundError",
    "CantImplementError", "FileNotFoundError", "StopIteration",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The releases of a program that are read.

    Attributes:
        releases: Versions in the package index, or tags of the repository, oldest first.
        package: Name in the package index; empty for a repository alone.
        parts: Regular expression of the paths that are read.
        passed: Regular expression of paths that are not, besides those never read.
        info: Whether its lines of state are kept.
    """

    releases: tuple[str, ...]
    package: str = ""
    parts: str = ""
    passed: str = r"(?!)"
    info: bool = False


def sources() -> dict[str, Source]:
    """The programs of the table beside this module."""
    import yaml

    held = yaml.safe_load((Path(__file__).parent / "errors.yaml").read_text(encoding="utf-8"))
    return {name: Source(**{**entry, "releases": tuple(entry["releases"])}) for name, entry in held.items()}


def is_of_use(statement: Statement) -> bool:
    """True if a statement is about a user's settings or resources, not about the program's own inside.

    Kept are lines of state; errors with values; and what names a setting or a resource. Left out are checks
    of tensors and types, and of interfaces without a value.
    """
    text = statement.template
    names_setting = _SETTING.search(text) is not None
    is_near = names_setting or _RESOURCE.search(text) is not None
    if statement.level == "info":
        return True
    if not _holds_slot(text):
        return is_near
    if statement.level == RAISED and _TENSOR.search(text) and not _RESOURCE.search(text):
        return False
    if statement.level == RAISED:
        return is_near or statement.where not in _INNER
    return is_near or statement.level != "warning"


def shorten(template: str) -> str | None:
    """The pattern of a template: one line of it, words around its values; None where too little is left."""
    lines = [re.sub(r"\s+", " ", re.sub(r"\x1b\[[\d;]*m", "", line)).strip() for line in template.split("\n")]
    line = _SENTENCE.sub(f" {GAP} ", max(lines, key=_tells))
    line = _INSTALLED.sub(f" {GAP} ", line)
    line = re.sub(r"(\{\w+\})(?:\{\w+\})+", r"\1", line.replace("...", GAP)).replace(GAP, f" {GAP} ")
    chunks = line.split()
    slots = [place for place, chunk in enumerate(chunks) if _holds_slot(chunk)]
    for place in slots[MOST_SLOTS:]:
        chunks[place] = GAP
    slots = slots[:MOST_SLOTS]
    words = [p for p, chunk in enumerate(chunks) if p not in slots and chunk != GAP]
    ranked = sorted(words, key=lambda p: (_distance(p, slots), p))
    kept = {*ranked[:MOST_WORDS], *slots}
    short = [chunk if place in kept else GAP for place, chunk in enumerate(chunks)]
    short = [c for p, c in enumerate(short) if c != GAP or (p and short[p - 1] != GAP)]
    while True:  # behind left-out words comes a word, not a value, and nothing is left out at the ends
        lone = [
            p for p, c in enumerate(short) if c == GAP and (p + 1 == len(short) or not p or c == short[p + 1])
        ]
        lone += [p + 1 for p, c in enumerate(short[:-1]) if c == GAP and re.match(r"\W*\{\w", short[p + 1])]
        if not lone:
            break
        del short[lone[0]]
    pattern = " ".join(short).rstrip(".,:;!( ")
    letters = [word for word in anchors_of(pattern) if re.search(r"[^\W\d_]{3}", word)]
    if len(letters) < LEAST_WORDS or sum(map(len, letters)) < 14:
        return None
    return pattern


def _tells_enough(statement: Statement, pattern: str) -> bool:
    """True if a pattern has a value, or is an error that names a flag or variable or is not of the inside."""
    if _holds_slot(pattern) or statement.level == "info":
        return True
    return statement.level != "warning" and (statement.where not in _INNER or bool(_FLAG.search(pattern)))


def _holds_slot(chunk: str) -> bool:
    return re.search(r"(?<!\{)\{\w+\}", chunk) is not None


def _tells(line: str) -> tuple[int, int]:
    """The information of a line of a template, as a sort key: words, and values twice."""
    chunks = line.split()
    told = sum(1 for chunk in chunks if re.search(r"[^\W\d_]{3}", chunk)) + 2 * sum(map(_holds_slot, chunks))
    return min(told, 2 * MOST_WORDS), -len(line)


def _distance(place: int, slots: list[int]) -> float:
    """Distance of a word from the beginning or from a value; before a value it tells more than behind."""
    near = [1.0 * place]
    near += [slot - place - 0.5 if slot > place else place - slot for slot in slots]
    return min(near)


def statements_of(
    files: Iterable[tuple[str, bytes]], source: Source, known: dict[bytes, list[Statement]]
) -> Iterator[Statement]:
    """The statements of a release's files that a table may hold."""
    parts, passed = re.compile(source.parts), re.compile(source.passed)
    for path, content in files:
        if not parts.search(path) or _PASSED.search(path) or passed.search(path):
            continue
        key = hashlib.sha256(content).digest()
        if key not in known:
            known[key] = list(_read(path, content.decode("utf-8-sig", "replace"), info=source.info))
        yield from known[key]


def _codes(text: str) -> Iterator[Statement]:
    """The messages of a table of codes: the code stands before each."""
    for found in _CODE_TABLE.finditer(text):
        names = [name.strip() for name in found["names"].split(",")]
        message = percent_template(re.sub(r"\\.", " ", found["text"]), names)
        where = f"{found['code']} {found['title']}"
        yield Statement(level=RAISED, where=where, template=f"{found['code']}: {GAP} {message}")


def _read(path: str, text: str, *, info: bool) -> Iterator[Statement]:
    if '"ErrCode"' in text:
        for item in _codes(text):
            if pattern := shorten(item.template):
                yield Statement(level=item.level, where=item.where, template=pattern)
        return
    module = Path(path).stem if Path(path).stem != "__init__" else Path(path).parent.name
    try:
        for item in python_statements(text, module) if path.endswith(".py") else c_statements(text, module):
            if item.level == "info" and not (info and "{" in item.template and _STATE.search(item.template)):
                continue
            if is_of_use(item) and (pattern := shorten(item.template)) and _tells_enough(item, pattern):
                yield Statement(level=item.level, where=item.where, template=pattern)
    except (SyntaxError, RecursionError, ValueError) as fault:
        print(f"{path}: left out ({fault})", file=sys.stderr)


def table_of(releases: Iterable[tuple[str, Iterable[Statement]]]) -> list[tuple[str, ...]]:
    """Rows of a program: each pattern once, with the first and the last release that has it, sorted."""
    held: dict[str, list[str]] = {}
    for release, statements in releases:
        for item in statements:
            row = held.setdefault(item.template, [release, release, item.level, item.where])
            row[1] = release
            if LEVELS.index(item.level) < LEVELS.index(row[2]):
                row[2:] = [item.level, item.where]
    return sorted(((*row, pattern) for pattern, row in held.items()), key=lambda row: row[-1])


def package_files(package: str, release: str) -> Iterator[tuple[str, bytes]]:
    """The files of a release in the package index: of its wheel, else of its source distribution."""
    with tempfile.TemporaryDirectory() as place:
        for kind in ("--only-binary", "--no-binary"):
            command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", place, kind, ":all:"]
            done = subprocess.run(
                [*command, f"{package}=={release}"], capture_output=True, text=True, check=False
            )
            if not done.returncode:
                break
        else:
            print(f"{package} {release}: not had ({done.stderr.strip().splitlines()[-1]})", file=sys.stderr)
        for archive in sorted(Path(place).iterdir()):
            yield from archive_files(archive, _SOURCES)


def release_name(tag: str) -> str:
    """A release as people write it: ``core_v0.12.0`` is 0.12.0."""
    if tag == "HEAD":
        return "main"
    return re.sub(r"^(?:core_)?v(?=\d)|_core_r.*$|-1$", "", tag)


def main(argv: list[str] | None = None) -> int:
    """Write the tables; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="those of errors.yaml; all without")
    parser.add_argument("--repo", action="append", default=[], metavar="PROGRAM=GITDIR")
    parser.add_argument(
        "--releases", help="other releases, with commas; for a check against releases not read"
    )
    parser.add_argument("--into", type=Path, default=ROOT / "data" / "errors")
    given = parser.parse_args(argv)
    repos = {name: Path(place) for name, _, place in (item.partition("=") for item in given.repo)}
    known_programs = sources()
    if unknown := [name for name in given.programs if name not in known_programs]:
        parser.error(f"no program of errors.yaml: {', '.join(unknown)}")
    given.into.mkdir(parents=True, exist_ok=True)
    for program in given.programs or known_programs:
        source = known_programs[program]
        if not source.package and program not in repos:
            print(f"{program}: left as it is, name its repository with --repo")
            continue
        known: dict[bytes, list[Statement]] = {}
        read: list[tuple[str, list[Statement]]] = []
        for release in given.releases.split(",") if given.releases else source.releases:
            files = (
                tag_files(repos[program], release, _SOURCES)
                if program in repos
                else package_files(source.package, release)
            )
            found = list(statements_of(files, source, known))
            print(f"{program} {release}: {len(found)} statements", flush=True)
            if found:
                read.append((release_name(release), found))
        rows = table_of(read)
        with (given.into / f"{program}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(FIELDS)
            writer.writerows(rows)
        print(f"{program}: {len(rows)} patterns")
    return 0


if __name__ == "__main__":
    sys.exit(main())
