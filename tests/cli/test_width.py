"""Printed lines fit the screen, whatever the command, in any environment, and are read once."""

import re
from typing import Any

import pytest

from cli.text.width import columns_of

MODEL = ("--model", "qwen3-32b", "--phase", "serving", "--hardware", "910b3", "--count", "4")
PRINTING = [
    ("recommend", *MODEL),
    ("recommend", "--op", "gemm", "--shape", "M=4096,N=4096,K=4096", "--hardware", "h100-sxm"),
    ("recommend", *MODEL, "-v"),
    ("size", *MODEL[:-2], "--rate", "20/s", "--limit", "tpot<=50ms"),
    ("support",),
    ("estimate", *MODEL, "--compare", "tp=4", "tp=2,dp=2"),
    ("kb", "stats"),
    ("kb", "list", "settings", "--software", "vllm-ascend=0.18.0"),
    ("kb", "query", "hardware-facts", "--with", "hardware=ascend-910b3"),
]


LONGEST = 25
"""Words of a sentence: https://www.gov.uk/guidance/content-design/writing-for-gov-uk."""
RIDDLES = re.compile(
    r"as likely as not|likely to do\b|agree with this|fits with|refuses: .* and not |what ails"
)
NEGATION = re.compile(r"\b(no|not|nothing|none|never|nor|neither|cannot)\b", re.IGNORECASE)


def too_long(text: str, width: int) -> list[str]:
    """Lines that do not fit though they could be broken: more than a label and one word."""
    return [line for line in text.splitlines() if columns_of(line) > width and len(line.split()) > 2]


@pytest.mark.parametrize("command", PRINTING, ids=" ".join)
def test_a_pipe_gets_80_columns(run: Any, command: tuple[str, ...]) -> None:
    ran = run(*command, environment={"COLUMNS": ""})
    assert ran.code == 0
    assert ran.out
    assert too_long(ran.out, 80) == []


@pytest.mark.parametrize("command", PRINTING[2:6], ids=" ".join)
def test_sentences_are_short_and_plain(run: Any, command: tuple[str, ...]) -> None:
    ran = run(*command, environment={"COLUMNS": "900"})
    said = [line for line in (ran.out + ran.err).splitlines() if not line.startswith("  ") or "  # " in line]
    parts = [part for line in said for part in re.split(r"[.;:]\s|\(|\)|<\S+>", line)]
    lengths = {part: len(re.findall(r"(?<![-\w.])[A-Za-z][a-z']+(?![-\w.=])", part)) for part in parts}
    assert [part for part, length in lengths.items() if length > LONGEST] == []
    assert [one for part in parts for one in part.split(",") if len(NEGATION.findall(one)) > 1] == []
    assert RIDDLES.findall(ran.out) == []


def test_40_columns_without_colour(run: Any) -> None:
    ran = run("kb", "stats", environment={"COLUMNS": "40", "NO_COLOR": "1", "TERM": "dumb"})
    assert too_long(ran.out, 40) == []
    assert "\x1b" not in ran.out


def test_a_chinese_name_is_understood_and_printed_in_the_c_locale(run: Any) -> None:
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    ran = run("similar", "--model", "千问3-32B", "--hardware", "昇腾910B3", "-k", "1", environment=plain)
    assert ran.code == 0
    refused = run("similar", "--model", "千问3-32B", "--hardware", "昇腾910B9", environment=plain)
    assert refused.code == 2
    assert "910B9" in refused.fault
