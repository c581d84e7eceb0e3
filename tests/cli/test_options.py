"""``name=value`` texts, and options laid over a file."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.options import pairs
from cli.problem_options import ProblemOptions
from kg.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


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


def test_options_are_laid_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "problem.yaml"
    file.write_text(
        "model: gpt2\nshape: {M: 1, N: 2}\nlimits: [peak_memory<=1GB]\nbottlenecks: {wait: 0.1}\ncurrent: {a: 1}\n"
    )
    raw = ProblemOptions(
        file=file,
        model="bert",
        shape=["N=3"],
        limit=["latency<=1ms"],
        bottleneck=["memory"],
        current=["b=2"],
    ).raw()
    assert raw == {
        "model": "bert",
        "shape": {"M": 1, "N": 3},
        "limits": ["peak_memory<=1GB", "latency<=1ms"],
        "bottlenecks": {"wait": 0.1, "memory": None},
        "current": {"a": 1, "b": 2},
    }


def test_other_forms_of_a_file_are_added_to_as_well(tmp_path: Path) -> None:
    file = tmp_path / "problem.yaml"
    file.write_text("limits: {peak_memory: 1GB}\nbottlenecks: [wait]\n")
    raw = ProblemOptions(file=file, limit=["latency<=1ms"], bottleneck=["memory=0.2"]).raw()
    assert raw == {
        "limits": ["peak_memory<=1GB", "latency<=1ms"],
        "bottlenecks": {"wait": None, "memory": 0.2},
    }


@pytest.mark.parametrize(
    ("content", "option"), [("shape: 3", {"shape": ["M=1"]}), ("limits: 3", {"limit": ["a<=1"]})]
)
def test_a_form_that_is_none_is_not_passed_over(tmp_path: Path, content: str, option: dict[str, Any]) -> None:
    file = tmp_path / "problem.yaml"
    file.write_text(content)
    with pytest.raises(InputError, match="not 3"):
        ProblemOptions(file=file, **option).raw()


def test_brackets_by_the_thousand_are_a_text() -> None:
    deep = "[" * 50_000
    assert pairs("--trait", [f"a={deep}"]) == {"a": deep}


def test_without_options_there_is_no_question() -> None:
    assert ProblemOptions().raw() == {}
