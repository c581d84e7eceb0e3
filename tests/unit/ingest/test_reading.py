import gzip
import json
import os
import pickle
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ingest.door.records import NameResolver
from ingest.files import content as content_module
from ingest.reading import FileReport, discover, read
from kg import archives
from kg.errors import InputError
from kg.nouns.entities import Case
from kg.nouns.recipe import Recipe


def row(value: object = 1.5, **config: object) -> dict[str, Any]:
    return {
        "task": {"kind": "kernel", "op": "gemm", "shape": {"M": 8}},
        "hardware": {"name": "A100"},
        "config": config,
        "outcome": {"metric": "kernel_time", "unit": "ms", "value": value},
        "source": {"title": "test"},
    }


def lines(rows: Iterable[object]) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in rows)


def split(items: Iterable[Case | Recipe | FileReport]) -> tuple[list[Case], list[FileReport]]:
    found = list(items)
    cases = [item for item in found if isinstance(item, Case)]
    return cases, [item for item in found if isinstance(item, FileReport)]


def one(path: Path, names: NameResolver) -> tuple[list[Case], FileReport]:
    cases, (report,) = split(read([path], names))
    return cases, report


def test_bad_rows_do_not_hide_good_ones_and_have_their_lines(tmp_path: Path, names: NameResolver) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf"
        + lines([row(a=1)])
        + b"\n{not json}\n\xff\xfe\n[1]\n"
        + b"[" * 100_000
        + b"\n"
        + b'{"n": '
        + b"9" * 5000
        + b"}\n"
        + lines([row(-1), row(a=2)])[:-1]
    )
    cases, report = one(path, names)
    assert [dict(case.configuration) for case in cases] == [{"a": 1}, {"a": 2}]
    assert (report.good, report.bad, report.format) == (2, 6, "cases")
    assert [fault.place for fault in report.faults] == [f"line {n}" for n in (3, 4, 5, 6, 7, 8)]
    reasons = " | ".join(fault.reason for fault in report.faults)
    for part in ("no JSON", "no UTF-8 at byte 1", "not a list", "nested without end", "4300", "negative"):
        assert part in reasons


def test_a_hundred_faults_are_told_and_all_are_counted(tmp_path: Path, names: NameResolver) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines([row(a=1)]) + b"{}\n" * 250)
    _, report = one(path, names)
    assert (report.good, report.bad, len(report.faults)) == (1, 250, 100)


def test_gzip_is_known_by_its_content_and_has_the_digest_of_what_it_holds(
    tmp_path: Path, names: NameResolver
) -> None:
    data = lines(row(a=n) for n in range(50))
    plain, packed, two = tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "c.jsonl.gz"
    plain.write_bytes(data)
    packed.write_bytes(gzip.compress(data))
    two.write_bytes(gzip.compress(data[:100]) + gzip.compress(data[100:]) + b"\x00" * 512)
    reports = [one(path, names)[1] for path in (plain, packed, two)]
    assert {report.good for report in reports} == {50}
    assert len({report.digest for report in reports}) == 1


def test_a_truncated_gzip_file_gives_the_rows_before_the_break(tmp_path: Path, names: NameResolver) -> None:
    rows = [row(a=os.urandom(20).hex()) for _ in range(2000)]
    data = gzip.compress(lines(rows))
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(data[: len(data) // 2])
    cases, report = one(path, names)
    assert 800 < len(cases) < 1200
    assert report.bad == 1
    assert report.faults[0].reason == "truncated: the gzip data break off"
    assert report.faults[0].place == f"after line {len(cases)}"


def test_a_damaged_gzip_file_gives_the_rows_before_the_damage(tmp_path: Path, names: NameResolver) -> None:
    data = bytearray(gzip.compress(lines(row(a=n) for n in range(5))))
    data[-6] ^= 0xFF
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(bytes(data))
    cases, report = one(path, names)
    assert (len(cases), report.bad) == (5, 1)
    assert "damaged gzip" in report.faults[0].reason


def test_a_gzip_bomb_is_refused(tmp_path: Path, names: NameResolver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "FREE_EXPANSION", 1 << 20)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(lines([row(a=1)]) + b" " * (64 << 20)))
    cases, report = one(path, names)
    assert len(cases) == 1
    assert "grows more than 250 times" in report.faults[0].reason


def test_a_line_without_end_is_passed_over(
    tmp_path: Path, names: NameResolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_module, "MAXIMUM_LINE", 3 << 20)
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines([row(a=1)]) + b"x" * (9 << 20) + b"\n" + lines([row(a=2)]) + b"y" * (5 << 20))
    cases, report = one(path, names)
    assert len(cases) == 2
    assert [fault.place for fault in report.faults] == ["line 2", "line 4"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b" \n ", "nothing but white space"),
        (random.Random(1).randbytes(200) + b"\x00" * 9, "binary"),
        (b"\x00" * 5000, "nothing but zero bytes"),
        ('{"task": 1, "outcome": 2}'.encode("utf-16"), "UTF-16 text: save it as UTF-8"),
        ('{"task": 1, "outcome": 2}'.encode("utf-16-le"), "UTF-16 text: save it as UTF-8"),
        ('{"模型": "昇腾处理器", "task": 1, "outcome": 2}'.encode("gbk") * 9, "GBK text: save it as UTF-8"),
        (b"PK\x03\x04abc", "a zip archive: unpack it first"),
        (pickle.dumps({"task": 1}), "a pickle: never loaded, because loading one runs its code"),
        (gzip.compress(b"", mtime=0), "empty"),
        (gzip.compress(b"abc" * 99, mtime=0)[:10], "truncated: the gzip data break off"),
        (b"\x1f\x8b" + b"\xff" * 40, "damaged gzip"),
        (b'{"hello": "world"}\n', "in no format that is known"),
        ("Ein Brief über Öl".encode("latin-1") * 9, "neither UTF-8 text nor a format that is known"),
    ],
)
def test_a_file_that_nobody_reads_is_an_error_by_name_and_a_note_in_a_folder(
    tmp_path: Path, names: NameResolver, content: bytes, reason: str
) -> None:
    path = tmp_path / "folder" / "some.json"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read([path], names)
    assert str(error.value).startswith(f"{path}: ")
    assert reason in str(error.value)
    assert ("all: docs/formats.md" in error.value.hint) is (reason == "in no format that is known")
    _, report = one(path.parent, names)
    assert reason in report.skipped
    assert (report.format, report.good) == ("", 0)


def test_what_is_missing_is_told_before_anything_is_read(tmp_path: Path, names: NameResolver) -> None:
    good = tmp_path / "a.jsonl"
    good.write_bytes(lines([row()]))
    with pytest.raises(InputError, match="no such file"):
        read([good, tmp_path / "nowhere"], names)


def test_folders_are_walked_in_order_each_file_once_loops_or_not(tmp_path: Path, names: NameResolver) -> None:
    (tmp_path / "b").mkdir()
    for name in ("b/2.jsonl", "a.jsonl", "b/1.jsonl", ".hidden.jsonl"):
        (tmp_path / name).write_bytes(lines([row(name=name)]))
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    (tmp_path / "again.jsonl").symlink_to(tmp_path / "a.jsonl")
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "pipe")
    found = discover([tmp_path, tmp_path / "a.jsonl", tmp_path / "b"])
    assert [(item.path.relative_to(tmp_path).as_posix(), item.skipped) for item in found] == [
        ("a.jsonl", ""),
        ("b/1.jsonl", ""),
        ("b/2.jsonl", ""),
        ("b/loop", "a link to a folder; give that folder to read it"),
        ("dangling", "cannot be read (No such file or directory)"),
        ("pipe", "no regular file"),
    ]


def test_progress_adds_up_to_the_sizes(tmp_path: Path, names: NameResolver) -> None:
    data = lines(row(a=n) for n in range(500))
    (tmp_path / "a.jsonl").write_bytes(data)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(data))
    told: list[int] = []
    list(read([tmp_path], names, on_progress=told.append))
    assert sum(told) == sum(item.size for item in discover([tmp_path]))


def test_guesses_are_told_for_each_file_again(tmp_path: Path, names: NameResolver) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        unknown = row()
        unknown["hardware"]["name"] = "Foo"
        (tmp_path / name).write_bytes(lines([unknown, unknown]))
    _, reports = split(read([tmp_path], names))
    expected = ("hardware 'Foo' is not in the knowledge; kept as 'foo'",)
    assert [report.guesses for report in reports] == [expected, expected]


def test_a_table_without_a_mapping_is_told_how_to_get_one(tmp_path: Path, names: NameResolver) -> None:
    table = tmp_path / "runs.csv"
    table.write_text("batch,throughput\n8,100\n")
    with pytest.raises(InputError, match="a mapping would explain it") as error:
        read([table], names)
    assert error.value.hint == f"a draft of one: tunegraph ingest {table} --suggest-mapping"
