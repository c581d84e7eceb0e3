"""Files of a workspace flipped, cut, emptied, gone and replaced by older copies; parts of an export imported."""

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.endurance.disorder.acts import act, examine, look
from tests.endurance.disorder.children import run
from tests.endurance.disorder.places import content, editor, reader

PARTS = ("graph", "trials.sqlite3", "workspace.json", "learned", "versions")

PAGES = {2: "index interior", 5: "table interior", 10: "index leaf", 13: "table leaf"}


@dataclass(slots=True)
class DamageFigures:
    """The outcome of damage.

    Attributes:
        done: How often something was damaged.
        told: Doctor said so, or nothing could be opened.
        harmless: Doctor said nothing, and readers see what they saw: free space, logs, caches.
        silent: Doctor said nothing, and readers see something else.
        tracebacks: Something ended in a traceback or died.
        files: Files that were damaged, by name, with how often nobody told.
        ways: Ways in which files were harmed, each with what came of it.
        pages: Kinds of pages of SQLite files in which a bit was flipped, each with what came of it.
    """

    done: int = 0
    told: int = 0
    harmless: int = 0
    silent: int = 0
    tracebacks: int = 0
    files: Counter[str] = field(default_factory=Counter)
    ways: Counter[str] = field(default_factory=Counter)
    pages: Counter[str] = field(default_factory=Counter)

    @property
    def share_told(self) -> float | None:
        """Share of the damage outside free space that doctor tells."""
        count = self.told + self.silent + self.tracebacks
        return self.told / count if count else None


def flip_often(place: Path, number: int, rng: Random, say: Callable[[str], None]) -> DamageFigures:
    """Flip a bit in a file of a workspace, cut it, empty it, take it away, or put an older copy in its place.

    Each file comes once in each way, in an order by chance, before any comes again; before each stands a flip in a
    file of SQLite, any kind of page alike.

    Args:
        place: What ``places.make`` has filled.
        number: How often.
        rng: Chooses file, place and kind.
        say: Gets a line for whatever is wrong.
    """
    full, path = place / "full", place / "flipped"
    if not full.exists():
        shutil.copytree(place / "base", full)
        for name in ("ab", "evolve", "ingest"):
            done = run(act, name, place, full)
            if done.error:
                raise RuntimeError(f"{name}: {done.error}")
    sound = run(examine, full).value
    if sound is None or sound[0]:
        raise RuntimeError(f"not sound before any damage: {sound}")
    files = sorted(item.relative_to(full) for item in full.rglob("*") if item.is_file())
    databases = [file for file in files if file.suffix == ".sqlite3"]
    pairs = [(file, way) for file in files for way in _ways(full / file, place / "base" / file)]
    rng.shuffle(pairs)
    figures = DamageFigures()
    for turn in range(number):
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(full, path)
        file, way = pairs[turn // 2 % len(pairs)] if turn % 2 else (rng.choice(databases), "flipped")
        at, page = _harm(path / file, way, place / "base" / file, rng)
        came = _count(figures, run(examine, path), (sound[1],), f"{file} {way} at {at}", say)
        figures.ways[f"{way}: {came}"] += 1
        if page:
            figures.pages[f"{page}: {came}"] += 1
    shutil.rmtree(path, ignore_errors=True)
    return figures


def _ways(file: Path, older: Path) -> list[str]:
    """The ways in which a file can be harmed."""
    content = file.read_bytes()
    is_other = older.exists() and older.read_bytes() != content
    return ["gone", *(["flipped", "cut", "emptied"] if content else []), *(["older"] if is_other else [])]


def _harm(file: Path, way: str, older: Path, rng: Random) -> tuple[int, str]:
    """Harm a file; return at which byte, and in which kind of page of SQLite a bit was flipped."""
    raw = bytearray(file.read_bytes())
    at, page = _place(raw, rng) if way in {"flipped", "cut"} else (0, "")
    match way:
        case "gone":
            file.unlink()
            return at, ""
        case "older":
            raw = bytearray(older.read_bytes())
        case "flipped":
            raw[at] ^= 1 << rng.randrange(8)
        case _:
            del raw[at:]
    file.write_bytes(raw)
    return at, page if way == "flipped" else ""


def _place(raw: bytes | bytearray, rng: Random) -> tuple[int, str]:
    """A place in a file, and the kind of its page in one of SQLite (https://sqlite.org/fileformat.html)."""
    if not raw.startswith(b"SQLite format 3\0"):
        return rng.randrange(len(raw)), ""
    size, pages = int.from_bytes(raw[16:18], "big"), {"header": [range(100)]}
    for start in range(0, len(raw), size):
        page = range(start or 100, start + size)
        pages.setdefault(PAGES.get(raw[page.start], "overflow or free"), []).append(page)
    kind = rng.choice(sorted(pages))
    return rng.choice(rng.choice(pages[kind])), kind


def restore_parts(place: Path, number: int, rng: Random, say: Callable[[str], None]) -> DamageFigures:
    """Put an older copy of some parts in a workspace that has gone on; then a writer must refuse or be right."""
    figures, path = DamageFigures(), place / "patched"
    now = run(examine, place / "grown").value
    for _ in range(number):
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(place / "grown", path)
        chosen = [part for part in PARTS if rng.random() < 0.5]
        for part in chosen:
            old, new = place / "base" / part, path / part
            if not old.exists():
                continue
            shutil.rmtree(new) if new.is_dir() else new.unlink(missing_ok=True)
            (shutil.copytree if old.is_dir() else shutil.copyfile)(old, new)
        seen = run(examine, path)
        states = (now[1], run(examine, place / "base").value[1])  # all older parts are an older workspace
        _count(figures, seen, states, f"older {', '.join(chosen)}", say)
        if seen.value is not None and seen.value[0]:
            before = (path / "trials.sqlite3").read_bytes()
            written = run(act, "ingest", place, path)
            if written.error and not written.is_explained:
                figures.tracebacks += 1
                say(f"older {', '.join(chosen)}: a writer ended with {written.error}")
            elif not written.error and run(examine, path).value[0]:
                figures.silent += 1
                say(f"older {', '.join(chosen)}: a writer went on over a fault")
            elif written.error and (path / "trials.sqlite3").read_bytes() != before:
                figures.silent += 1
                say(f"older {', '.join(chosen)}: a writer that refused changed the rows")
    shutil.rmtree(path, ignore_errors=True)
    return figures


def import_prefixes(place: Path, number: int, rng: Random, say: Callable[[str], None]) -> DamageFigures:
    """Import the first lines of an export: refused whole, or every reader works."""
    figures, path = DamageFigures(), place / "prefix"
    lines = (place / "graph.nt").read_text(encoding="utf-8").splitlines(keepends=True)
    empty = run(look, place / "empty").value["first"]
    for _ in range(number):
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(place / "empty", path)
        at = rng.randrange(len(lines) + 1)
        (place / "prefix.nt").write_text("".join(lines[:at]), encoding="utf-8")
        done = run(_import, place / "prefix.nt", path)
        figures.done += 1
        if done.error and not done.is_explained:
            figures.tracebacks += 1
            say(f"{at} lines: {done.error}")
            continue
        seen = run(look, path)
        is_right = seen.value is not None and not seen.value["faults"] and run(_violations, path).value == 0
        if not is_right or (done.error and seen.value["then"] != empty):
            figures.silent += 1
            say(f"{at} lines: {done.error or 'taken in'}, then {seen.error or seen.value}")
        elif done.error:
            figures.told += 1
        else:
            figures.harmless += 1
    shutil.rmtree(path, ignore_errors=True)
    return figures


def _violations(_: Callable[[object], None], path: Path) -> int:
    with reader(path) as workspace:
        return len(workspace.knowledge.validate())


def _import(_: Callable[[object], None], file: Path, path: Path) -> int:
    with editor(path) as writing:
        writing.import_graph(file)
    return int(str(content(path)["rows"]))


def _count(
    figures: DamageFigures, seen: Any, sound: tuple[object, ...], what: str, say: Callable[[str], None]
) -> str:
    """Count what came of it, and return it."""
    figures.done += 1
    if seen.value is None:
        figures.tracebacks += 1
        say(f"{what}: {seen.error or 'the process died'}")
        return "traceback"
    found, readable, _ = seen.value
    if found:
        figures.told += 1
        return "told"
    if readable in sound:
        figures.harmless += 1
        figures.files[what.split(" ", maxsplit=1)[0].rpartition("/")[2]] += 1
        return "harmless"
    figures.silent += 1
    say(f"{what}: nobody says so, and readers see something else")
    return "silent"
