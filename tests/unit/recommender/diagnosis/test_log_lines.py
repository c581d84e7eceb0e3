"""Lines of a log, taken together where they differ in digits alone."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kg.errors import InputError
from recommender.diagnosis import log_lines
from recommender.diagnosis.log_lines import LogLine, read_lines

CODES = re.compile(r"code 5\d\d|E1\d{4}")


def codes_in(text: bytes) -> dict[int, str]:
    found = {
        place: CODES.search(line.decode("utf-8", "replace")) for place, line in enumerate(text.split(b"\n"))
    }
    return {place: code[0] for place, code in found.items() if code is not None}


def places(text: bytes) -> NDArray[np.intp]:
    return np.array([found.start() for found in re.finditer(b"lost|load", text)], np.intp)


def tells(line: bytes) -> list[bytes]:
    return [b"load"] if b"load" in line else []


def lines(tmp_path: Path, content: bytes, taken: list[bytes] | None = None) -> list[LogLine]:
    path = tmp_path / "run.log"
    path.write_bytes(content)
    held: list[bytes] = [] if taken is None else taken
    return [line for kinds in read_lines(path, places, codes_in, tells, held.append) for line in kinds]


def test_lines_that_differ_in_digits_are_one_kind_with_its_first_and_last(tmp_path: Path) -> None:
    [step, end] = lines(tmp_path, b"".join(b"step %d loss 1.%d\n" % (n, n) for n in range(9)) + b"end\n")
    assert (step.first, step.last, step.count) == ("step 0 loss 1.0", "step 8 loss 1.8", 9)
    assert (step.numbers, step.last_number) == ((1, 2, 3, 4, 5), 9)
    assert (end.numbers, end.count) == ((10,), 1)


def test_a_code_among_the_digits_makes_a_kind_of_its_own(tmp_path: Path) -> None:
    found = lines(tmp_path, b"error code 200\nerror code 201\nerror code 507\nE10001 x\nE20001 x\n")
    assert [(line.first, line.count) for line in found] == [
        ("error code 200", 2),
        ("error code 507", 1),
        ("E10001 x", 1),
        ("E20001 x", 1),
    ]


def test_colours_are_taken_off_and_a_bar_that_is_written_over_is_each_of_its_states(tmp_path: Path) -> None:
    found = lines(tmp_path, b"\x1b[31mlost\x1b[0m\n 1%\r 2%\rdone\n\xff\xfe\n")
    assert [(line.first, line.numbers) for line in found[:3]] == [
        ("lost", (1,)),
        (" 1%", (2, 2)),
        ("done", (2,)),
    ]


def test_each_line_that_tells_is_handed_on(tmp_path: Path) -> None:
    taken: list[bytes] = []
    lines(tmp_path, b"load 1\nother\nload 2\n", taken)
    assert taken == [b"load 1", b"load 2"]


def test_a_long_line_is_cut_and_a_gzipped_log_is_read(tmp_path: Path) -> None:
    [line] = lines(tmp_path, gzip.compress(b"x" * 50_000))
    assert len(line.first) == log_lines.MOST_LINE


def test_of_a_long_log_only_lines_that_may_tell_are_taken_between_begin_and_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_lines, "MOST_WHOLE", -1)
    monkeypatch.setattr(log_lines, "BLOCK", 64)
    other = b"".join(b"%s other\n" % bytes([letter]) for letter in b"ghijklmnopqrs")
    content = other + b"Error: it is lost\r\nand goes on\n" + other * 3 + b"the end\n"
    found = lines(tmp_path, content)
    kinds = {line.first: line.numbers[0] for line in found if "other" not in line.first}
    assert kinds == {"Error: it is lost": 14, "and goes on": 15, "the end": 55}
    assert sum(line.count for line in found) < content.count(b"\n")


def test_many_kinds_come_in_several_lists_and_a_line_without_end_takes_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_lines, "MOST_SHAPES", 2)
    monkeypatch.setattr(log_lines, "BLOCK", 3)
    monkeypatch.setattr(log_lines, "MOST_LINE", 4)
    path = tmp_path / "run.log"
    path.write_text("x\ny\nz" + "z" * 99)
    found = list(read_lines(path, places, codes_in, tells, print))
    assert [[line.first for line in kinds] for kinds in found] == [["x", "y", "zzzz"], []]


def test_nothing_and_no_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is empty"):
        lines(tmp_path, b"")
    with pytest.raises(InputError, match="cannot be read"):
        list(read_lines(tmp_path / "none.log", places, codes_in, tells, print))
