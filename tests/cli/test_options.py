"""Options laid over a file."""

from pathlib import Path
from typing import Any

import pytest

from cli.problem_options import ProblemOptions
from kg.errors import InputError


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
    origins = raw.pop("origins")
    assert isinstance(origins, dict)
    assert {name: origins[name] for name in ("model", "shape.M", "shape.N", "current.a", "current.b")} == {
        "model": "told", "shape.M": "file", "shape.N": "told", "current.a": "file", "current.b": "told",
    }  # fmt: skip
    assert raw.pop("notes") == ["model is told as bert and wins; the file says gpt2",
                                "shape.N is told as 3 and wins; the file says 2"]  # fmt: skip
    assert raw == {
        "model": "bert",
        "shape": {"M": 1, "N": 3},
        "limits": ["peak_memory<=1GB", "latency<=1ms"],
        "bottlenecks": {"wait": 0.1, "memory": None},
        "current": {"a": 1, "b": 2},
    }


def test_a_size_that_is_told_takes_the_place_of_the_same_in_other_words(tmp_path: Path) -> None:
    file = tmp_path / "problem.yaml"
    file.write_text("current: {--tensor-parallel-size: 8, --dtype: half, --max-model-len: 9}\n")
    raw = ProblemOptions(file=file, current=["tp_size=4", "quantization=fp8", "context_length=9"]).raw()
    assert raw["current"] == {"--dtype": "half", "tp_size": 4, "quantization": "fp8", "context_length": 9}
    assert raw["notes"] == [
        "current.tp_size is told as 4 and wins; the file says current.--tensor-parallel-size 8"
    ]
    assert "current.--tensor-parallel-size" not in raw["origins"]  # type: ignore[operator]  # a mapping


def test_other_forms_of_a_file_are_added_to_as_well(tmp_path: Path) -> None:
    file = tmp_path / "problem.yaml"
    file.write_text("limits: {peak_memory: 1GB}\nbottlenecks: [wait]\n")
    raw = ProblemOptions(file=file, limit=["latency<=1ms"], bottleneck=["memory=0.2"]).raw()
    assert raw.pop("origins") == {"limits": "told", "bottlenecks": "file", "bottlenecks.memory": "told"}
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


def test_without_options_there_is_no_question() -> None:
    assert ProblemOptions().raw() == {}
