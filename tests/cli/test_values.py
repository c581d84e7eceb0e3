"""Texts of the command line as values."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.values import axes, limits, pairs, share, span_s
from kg.errors import InputError


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["M=4096,N=4096"], {"M": 4096, "N": 4096}),
        (["M=4096", "N=1.5"], {"M": 4096, "N": 1.5}),
        (["a=[1,2],b=3"], {"a": [1, 2], "b": 3}),
        (["a=x,y,b=2"], {"a": "x,y", "b": 2}),
        (["a=true,b=null,c=text"], {"a": True, "b": None, "c": "text"}),
        ([" a = 1 "], {"a": 1}),
        (["a=b=c"], {"a": "b=c"}),
        (["a="], {"a": ""}),
        (["--x=1"], {"--x": 1}),
        (None, {}),
    ],
)
def test_texts_become_names_and_values(texts: list[str] | None, found: dict[str, Any]) -> None:
    assert pairs("--shape", texts) == found


def test_versions_stay_texts() -> None:
    assert pairs("--software", ["torch=2.10,cann=8.0.RC2"], as_text=True) == {
        "torch": "2.10",
        "cann": "8.0.RC2",
    }


def test_a_bare_name_is_allowed_where_it_makes_sense() -> None:
    assert pairs("--bottleneck", ["wait", "memory=0.2"], bare=True) == {"wait": None, "memory": 0.2}
    with pytest.raises(InputError, match="--shape 'M': expected name=value"):
        pairs("--shape", ["M"])


@pytest.mark.parametrize("text", ["", "=1", " =1", ",", "a=1,,b=2=,=3"])
def test_a_text_without_a_name_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected name=value"):
        pairs("--shape", [text])


@given(st.text(max_size=30))
def test_any_text_gives_pairs_or_bad_input(text: str) -> None:
    with contextlib.suppress(InputError):
        assert all(name.strip() for name in pairs("--shape", [text]))


@pytest.mark.parametrize("text", ["3%", "3 %", " 0.03 ", "3e-2"])
def test_a_share_is_a_number_or_percent(text: str) -> None:
    assert share("--margin", text) == pytest.approx(0.03)


@pytest.mark.parametrize("text", ["", "%", "-1%", "x", "1x", "nan", "inf%"])
def test_no_share_is_refused_by_its_option(text: str) -> None:
    with pytest.raises(InputError, match=r"--margin .* is no share"):
        share("--margin", text)


def test_an_axis_has_values() -> None:
    assert axes("--sweep", ["micro_batch=1,2,4", "recompute=full,none"]) == {
        "micro_batch": [1, 2, 4],
        "recompute": ["full", "none"],
    }
    for text in ("micro_batch", "micro_batch=", "=1"):
        with pytest.raises(InputError, match="--sweep"):
            axes("--sweep", [text])


def test_limits_are_texts_however_a_file_has_them() -> None:
    assert limits({"peak_memory": "32GB"}) == limits(["peak_memory<=32GB"]) == ["peak_memory<=32GB"]
    assert limits(None) == []
    with pytest.raises(InputError, match="limits: expected a list"):
        limits("peak_memory<=32GB")


def test_spans_of_time() -> None:
    assert [span_s(text) for text in ("90", "30min", "1.5h", "250ms")] == [90, 1800, 5400, 0.25]
    for text in ("", "soon", "-3s", "0"):
        with pytest.raises(InputError):
            span_s(text)


def test_brackets_by_the_thousand_are_a_text() -> None:
    deep = "[" * 50_000
    assert pairs("--trait", [f"a={deep}"]) == {"a": deep}
