"""No file, however damaged, gives a traceback: every registered format, on mutated samples of it."""

import gzip
import os
import pickle
import random
import re
import tempfile
import zlib
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.door.context import IngestContext
from ingest.door.records import Records
from ingest.door.search_space import SearchSpaceFile
from ingest.files.content import Content
from ingest.files.sniffing import read_head
from ingest.formats.format import Format
from ingest.formats.outputs import results
from ingest.formats.registry import FORMATS, recognise
from ingest.reading import FileReport, read
from kg.errors import Fault, InputError
from kg.nouns.entities import Case
from kg.nouns.recipe import Recipe
from recommender.store.ingestion import Options
from recommender.store.inspection import Severity
from recommender.workspace.workspace import Workspace
from tests.property.reader_samples import BESIDE, SAMPLES, EveryName
from tests.samples.outputs import OUTPUTS
from tests.samples.readings import ingest

ADDRESS = "https://example.org/file"
OF_FORMAT = attrgetter("name")
FRAGMENTS = [
    *(b"\x00", b"\xff", b"\xe6\x98", b"\xef\xbb\xbf", b"{", b"}", b"[", b"]", b",", b'"', b"'", b"\n", b"\r"),
    *(b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"1e-400", b"-1", b"0", b"9" * 400, b'"\\ud800"'),
    *(b"[]", b"{}", b"[" * 2000, b'{"a":' * 2000, b"&a *a", b"!!python/name:os.system "),
]
NESTED = [b"[", b'{"a":', b'{"func_eval":[', b'{"cache":{"1":', b'{"Results":[[']
ENCODINGS = ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "gb18030", "utf-7"]


def sample_of(known: Format) -> tuple[str, bytes]:
    """Name and content of a sound file of a format."""
    name, make = SAMPLES[known.name]
    return name, make()


def lay_out(known: Format, folder: Path, name: str, content: bytes) -> Path:
    """Write a file and the sound files that belong to it."""
    for side, sound in BESIDE.get(known.name, {}).items():
        (folder / side).write_bytes(sound)
    path = folder / name
    path.write_bytes(content)
    return path


def recoded(content: bytes, encoding: str) -> bytes:
    try:
        return content.decode().encode(encoding, errors="replace")
    except UnicodeDecodeError:
        return content


@st.composite
def damage(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """One way to spoil bytes."""
    start, length = draw(st.floats(0, 1)), draw(st.sampled_from([0, 1, 2, 8, 64, 1000]))
    piece = draw(st.sampled_from(FRAGMENTS) | st.binary(max_size=4))
    bit = 1 << draw(st.integers(0, 7))
    encoding = draw(st.sampled_from(ENCODINGS))
    how = draw(
        st.sampled_from(["cut", "flip", "flip", "drop", "insert", "replace", "repeat", "recode", "pack"])
    )

    def spoil(content: bytes) -> bytes:
        at = int(start * len(content))
        chunk = content[at : at + length]
        match how:
            case "cut":
                return content[:at]
            case "flip":
                return content[:at] + bytes(byte ^ bit for byte in content[at : at + 1]) + content[at + 1 :]
            case "drop":
                return content[:at] + content[at + length :]
            case "insert":
                return content[:at] + piece + content[at:]
            case "replace":
                return content[:at] + piece + content[at + length :]
            case "repeat":
                return content[:at] + chunk * 3 + content[at + length :]
            case "recode":
                return recoded(content, encoding)
            case _:
                return gzip.compress(content, mtime=0)

    return spoil


def check(known: Format, path: Path) -> None:
    """A file through one reader, if it takes it, and through whatever reads it by itself."""
    head = read_head(path)
    if known.sniff(head):
        with Content(path) as content:
            for item in known.read(content, Records(EveryName(), IngestContext(source=ADDRESS))):
                assert isinstance(item, Case | Recipe | Fault | SearchSpaceFile)
                if isinstance(item, Fault):
                    assert item.reason
                    assert "\n" not in item.place
                elif isinstance(item, Case):  # what came through the door can be stored
                    assert item.problem.id
                    assert item.configuration.digest
                    assert item.source.id
    if recognise(head) is None:
        with pytest.raises(InputError, match=re.escape(str(path))):
            read([path], EveryName())
        return
    *cases, report = read([path], EveryName(), context=IngestContext(hardware="A100", source=ADDRESS))
    assert isinstance(report, FileReport)
    assert (report.path, report.good) == (path, len(cases))
    assert len(report.faults) == min(report.bad, 100)


@pytest.mark.parametrize("known", FORMATS, ids=OF_FORMAT)
@given(damages=st.lists(damage(), min_size=1, max_size=4))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_damaged_file_gives_faults_and_never_a_traceback(
    known: Format, damages: list[Callable[[bytes], bytes]]
) -> None:
    name, content = sample_of(known)
    for spoil in damages:
        content = spoil(content)
    with tempfile.TemporaryDirectory() as folder:
        check(known, lay_out(known, Path(folder), name, content))


@pytest.mark.parametrize("tool", OUTPUTS)
@given(damages=st.lists(damage(), min_size=1, max_size=4))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_damaged_result_gives_faults_and_never_a_traceback(
    tool: str, damages: list[Callable[[bytes], bytes]]
) -> None:
    name, text, _ = OUTPUTS[tool]
    content = text.encode()
    for spoil in damages:
        content = spoil(content)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(content)
        check(results.FORMAT, Path(folder) / name)


@pytest.mark.parametrize("known", [known for known in FORMATS if known.name in BESIDE], ids=OF_FORMAT)
@given(damages=st.lists(damage(), min_size=1, max_size=4))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_damaged_file_beside_gives_faults_and_never_a_traceback(
    known: Format, damages: list[Callable[[bytes], bytes]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = lay_out(known, Path(folder), *sample_of(known))
        for side, sound in BESIDE[known.name].items():
            content = sound
            for spoil in damages:
                content = spoil(content)
            (Path(folder) / side).write_bytes(content)
        check(known, path)


@pytest.mark.parametrize("turn", range(4))
def test_a_workspace_is_whole_after_damaged_files(turn: int, empty_path: Path, tmp_path: Path) -> None:
    """Six files of each format, damaged by a fixed seed: what is taken in is whole, and twice is once."""
    for known in FORMATS[turn::4]:
        name, content = sample_of(known)
        chance = random.Random(known.name)
        for number in range(6):
            spoiled = bytearray(content)
            for _ in range(chance.randint(1, 3)):
                at = chance.randrange(len(spoiled))
                spoiled[at : at + chance.choice((0, 1, 8))] = chance.choice(FRAGMENTS)
            folder = tmp_path / "files" / known.name / str(number)
            folder.mkdir(parents=True)
            lay_out(known, folder, name, bytes(spoiled))
    options = Options(hardware="A100", source=ADDRESS)
    with Workspace.open(empty_path, cache=tmp_path / "cache") as workspace:
        first = workspace.ingest(tmp_path / "files", options=options)
        assert first.added.rows == workspace.trials.counts().trials
        assert [found for found in workspace.upkeep.check() if found.severity is Severity.FAULT] == []
        batch = workspace.snapshot.batch
        assert workspace.ingest(tmp_path / "files", options=options).added.rows == 0
        assert workspace.snapshot.batch == batch


@pytest.mark.parametrize("known", FORMATS, ids=OF_FORMAT)
def test_the_samples_are_sound(known: Format, tmp_path: Path) -> None:
    path = lay_out(known, tmp_path, *sample_of(known))
    assert recognise(read_head(path)) is known
    _, report = ingest(EveryName(), path, "A100", source=ADDRESS)
    assert (report.bad, report.skipped) == (0, "")
    assert report.good or report.space or report.guesses


@pytest.mark.parametrize("known", FORMATS, ids=OF_FORMAT)
@pytest.mark.parametrize("each", [False, pytest.param(True, marks=pytest.mark.long)])
def test_nesting_without_end_is_refused(known: Format, each: bool, tmp_path: Path) -> None:
    name, _ = sample_of(known)
    place = FORMATS.index(known) % len(NESTED)
    for text in NESTED if each else NESTED[place : place + 1]:
        check(known, lay_out(known, tmp_path, name, text * 100_000))


@pytest.fixture(scope="module")
def filler() -> bytes:
    """24 MiB of one letter as raw deflate data: they grow a thousand times when unpacked."""
    packer = zlib.compressobj(9, wbits=-15)
    return packer.compress(b"a" * (24 << 20)) + packer.flush()


@pytest.mark.parametrize("known", FORMATS, ids=OF_FORMAT)
def test_a_gzip_bomb_is_refused(
    known: Format, tmp_path: Path, filler: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kg.archives.FREE_EXPANSION", 4 << 20)
    name, content = sample_of(known)
    path = tmp_path / f"{name}.gz"
    head = zlib.compressobj(9, wbits=-15)
    start = head.compress(content[:-2] + b'"') + head.flush(zlib.Z_FULL_FLUSH)
    path.write_bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff" + start + filler + bytes(8))
    check(known, path)
    records = Records(EveryName())
    if not known.sniff(read_head(path)):
        return
    with Content(path) as unpacked:
        items = list(known.read(unpacked, records))
        assert unpacked._unpacked <= 16 << 20
    assert any(isinstance(item, Fault) for item in items) or records.guesses


class Poison:
    """Unpickling it would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("known", FORMATS, ids=OF_FORMAT)
def test_a_pickle_is_never_loaded(known: Format, tmp_path: Path) -> None:
    name, _ = sample_of(known)
    path, mark = tmp_path / name, tmp_path / "loaded"
    for protocol in (0, pickle.HIGHEST_PROTOCOL):
        path.write_bytes(pickle.dumps(Poison(mark), protocol=protocol))
        check(known, path)
        assert not mark.exists()


def test_a_loop_of_links_is_walked_once(tmp_path: Path) -> None:
    for known in FORMATS:
        (tmp_path / known.name).mkdir()
        lay_out(known, tmp_path / known.name, *sample_of(known))
    expected = [item for item in read([tmp_path], EveryName()) if isinstance(item, FileReport)]
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    (tmp_path / "first").symlink_to(tmp_path / "second")
    (tmp_path / "second").symlink_to(tmp_path / "first")
    found = [item for item in read([tmp_path], EveryName()) if isinstance(item, FileReport)]
    assert sum(item.good for item in found) == sum(item.good for item in expected) > 0
    sides = {name for beside in BESIDE.values() for name in beside}
    skipped = {item.path.name for item in found if item.skipped}
    assert skipped - sides == {"again", "self", "first", "second"}
