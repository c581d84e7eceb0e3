"""The one door of all that is printed: no control character of foreign data reaches a terminal."""

import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import output
from cli.main import _say
from kg.hidden_text import harmless

HOSTILE = "a\x1b]0;x\x07b\x1b[2J\x9b2J\x08\r\u202ec\x7f\u200f\U000e0041"


def door(monkeypatch: pytest.MonkeyPatch) -> tuple[io.StringIO, io.StringIO]:
    """The streams behind the door; not a fixture, as pytest puts its own streams back before the test."""
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    output.make_harmless()
    output.make_harmless()
    return out, err


def test_everything_printed_is_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = door(monkeypatch)
    print(HOSTILE)
    print(HOSTILE, file=sys.stderr)
    output.note(HOSTILE)
    output.table([HOSTILE], [[HOSTILE]], title=HOSTILE)
    _say(HOSTILE, HOSTILE)
    for stream in printed:
        text = stream.getvalue()
        assert "\\u001b" in text
        assert all(mark.isprintable() or mark == "\n" for mark in text)


def test_json_stays_json(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = door(monkeypatch)
    output.as_json({"x": HOSTILE})
    assert json.loads(printed[0].getvalue())["x"] == HOSTILE
    assert "\x9b" not in printed[0].getvalue()


@given(st.text())
def test_plain_text_stays_and_the_rest_is_spelled_out(text: str) -> None:
    made = harmless(text)
    assert harmless(made) == made
    if text.isprintable():
        assert made == text


def test_tabs_and_line_ends_stay() -> None:
    assert harmless("a\tb\r\nc\n昇腾") == "a\tb\r\nc\n昇腾"
    assert harmless("gain 3x\rgain 1x") == "gain 3x\\u000dgain 1x"
