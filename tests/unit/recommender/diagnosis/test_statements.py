"""Statements of released programs, found in lines."""

import re
import time

import pytest

import data
from recommender.diagnosis.statements import (
    FIELDS,
    FOLDER,
    GAP,
    LEVELS,
    KnownStatement,
    StatementIndex,
    compile_pattern,
    parts_of,
    programs,
    read_statements,
    slots_of,
)
from tests.quiet_machine import cpu_seconds

MOST_BYTES = 2_100_000
MOST_LITERAL_WORDS = 12


def statement(pattern: str, level: str = "raise") -> KnownStatement:
    return KnownStatement(
        program="p", since="1.0", until="2.0", level=level, where="ValueError", pattern=pattern
    )


def rendered(pattern: str) -> tuple[str, dict[str, str]]:
    """A line as the statement writes it, with a number for each value."""
    values = {name: str(place + 11) for place, name in enumerate(slots_of(pattern))}
    numbers = iter(values.values())
    parts = [
        next(numbers) if kind == "slot" else text if kind == "text" else "other words"
        for kind, text in parts_of(pattern)
    ]
    return "".join(parts), values


@pytest.mark.parametrize("program", programs())
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.long), 20])
def test_each_pattern_finds_its_own_text_and_gives_its_numbers_by_name(program: str, step: int) -> None:
    held = read_statements(program)
    assert held
    assert [item.pattern for item in held] == sorted({item.pattern for item in held})
    for item in held[::step]:
        assert item.level in LEVELS
        assert all((item.since, item.until, item.where))
        line, values = rendered(item.pattern)
        found = item.values_in(f"(P pid=7) ERROR 01-02 [core.py:9] Error: {line} and more")
        assert found is not None, item.pattern
        # a unit may stand behind a number; a number glued to text is part of that text
        wrong = {name: text for name, text in found.items() if not text.startswith(values[name])}
        assert not wrong, (item.pattern, wrong)


def test_the_tables_are_small_and_hold_no_long_texts() -> None:
    texts = [data.text(name) for name in data.files(FOLDER, ".csv")]
    assert sum(len(text.encode()) for text in texts) <= MOST_BYTES
    assert all(text.startswith(",".join(FIELDS) + "\n") for text in texts)
    for program in programs():
        for item in read_statements(program):
            words = [
                word
                for word in item.pattern.split()
                if word != GAP and not re.search(r"(?<!\{)\{\w+\}", word)
            ]
            assert len(words) <= MOST_LITERAL_WORDS, item.pattern


@pytest.mark.long
@pytest.mark.parametrize("program", programs())
def test_no_pattern_takes_long_on_any_text(program: str) -> None:
    """20 kB of its own text again and again, and of text without a space, within 0.05 CPU seconds."""
    for item in read_statements(program):
        line, _ = rendered(item.pattern)
        for text in ((line[: len(line) * 2 // 3] + " ") * (20_000 // len(line) + 1), "x" * 20_000):
            expression = compile_pattern(item.pattern)
            begin = time.process_time()
            expression.search(text[:20_000])
            took = time.process_time() - begin
            assert took < 0.05 or took < cpu_seconds(0.05), item.pattern


@pytest.mark.parametrize(
    ("pattern", "line", "values"),
    [
        ("needs {need} GiB of memory", "E: needs 1.34 GiB of memory.", {"need": "1.34 GiB"}),
        ("length ({most}) is larger", "length (131072) is larger", {"most": "131072"}),
        (
            "asked for {n}, … free: {free}",
            "asked for 5, which is more than is free: 3.",
            {"n": "5", "free": "3"},
        ),
        ("{n} blocks are lost", "so -7 blocks are lost", {"n": "-7 blocks"}),
        ("model {name} and {name} differ", "model a-b and c d differ", {"name": "a-b", "name_2": "c d"}),
        ("use {{x}} of {n}", "use {x} of 1,024 tokens", {"n": "1,024 tokens"}),
        ("two  words", "two    words", {}),
        ("#running: {n}, rate: {r}%", "#running: 9, rate: 5%", {"n": "9", "r": "5 %"}),
    ],
)
def test_values_are_read_with_their_units(pattern: str, line: str, values: dict[str, str]) -> None:
    assert statement(pattern).values_in(line) == values


def test_the_more_specific_statement_comes_first_and_other_lines_have_none() -> None:
    index = StatementIndex([statement("free memory {n} GiB"), statement("free memory {n} GiB on device {d}")])
    hits = index.hits("ERROR free memory 3 GiB on device 0", {"p"})
    assert [item.pattern for item, _ in hits] == [
        "free memory {n} GiB on device {d}",
        "free memory {n} GiB",
    ]
    assert index.hits("memory of 3 GiB is free", {"p"}) == []
    assert index.hits("", {"p"}) == []


def test_a_range_of_one_release_is_that_release() -> None:
    one = KnownStatement(program="p", since="1", until="1", level="info", where="m", pattern="a b c")
    assert (one.releases, statement("a b c").releases) == ("1", "1.0 to 2.0")
