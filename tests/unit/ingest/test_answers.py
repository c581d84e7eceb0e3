"""Recommended configurations in the formats of other programs."""

import ast
import json
from collections.abc import Mapping

import pytest
import yaml

from ingest.answers import ANSWERS, write_answer
from ingest.door.records import NameResolver
from kg.errors import InputError
from kg.nouns.values import Settings
from tests.samples.rich_cases import rich_cases, untimed

# -- answers -------------------------------------------------------------------------------------


def choices(*configurations: Mapping[str, object]) -> list[tuple[Settings, tuple[str, ...]]]:
    return [
        (Settings(item), tuple(f"{name}={value}" for name, value in item.items())) for item in configurations
    ]


def test_an_answer_in_every_form(names: NameResolver) -> None:
    problem = untimed(names, 64).problem
    best, second = {"BLOCK_SIZE_M": 16, "num_warps": 4}, {"BLOCK_SIZE_M": 32, "num_warps": 8}
    texts = {
        form: write_answer(form, problem, choices(best, second)).text for form in ANSWERS if form != "json"
    }
    assert texts["flags"] == "BLOCK_SIZE_M=16 num_warps=4\nBLOCK_SIZE_M=32 num_warps=8\n"
    assert texts["env"] == texts["flags"]
    assert yaml.safe_load(texts["yaml"]) == json.loads(texts["optuna"]) == [best, second]
    assert json.loads(texts["vllm"]) == json.loads(texts["sglang"]) == {"64": best}
    assert texts["triton"].count("triton.Config(") == 2
    assert "num_warps=4)" in texts["triton"]
    t4 = json.loads(texts["kernel-tuner"])
    assert [result["configuration"] for result in t4["results"]] == [best, second]
    for result in t4["results"]:  # nothing was measured, nobody checked
        assert (result["measurements"], result["objectives"], result["correctness"]) == ([], [], 0)


def test_the_loss_to_expect_is_a_comment_where_a_form_has_comments(names: NameResolver) -> None:
    problem, loss = untimed(names, 64).problem, ["expected above the best time: 5 %"]
    for form in (form for form in ANSWERS if form != "json"):
        written = write_answer(form, problem, choices({"BLOCK_SIZE_M": 16}), remarks=loss)
        as_comment = written.text.startswith(f"# {loss[0]}\n")
        assert as_comment != (loss[0] in written.notes)
        assert as_comment == (form in {"yaml", "triton", "kernel-tuner-restriction"})


def test_a_restriction_is_python_that_lets_the_list_pass(names: NameResolver) -> None:
    best, second = {"BLOCK_SIZE_M": 16, "mode": "a"}, {"BLOCK_SIZE_M": 32, "mode": "b"}
    text = write_answer("kernel-tuner-restriction", untimed(names, 64).problem, choices(best, second)).text
    [rule] = ast.literal_eval(text.partition(" = ")[2])
    passes = [point for point in (best, second, {**best, "mode": "b"}) if eval(rule, {}, point)]  # noqa: S307
    assert passes == [best, second]
    with pytest.raises(InputError, match="no name in a restriction"):
        write_answer("kernel-tuner-restriction", untimed(names, 64).problem, choices({"a.b": 1}))


def test_a_table_says_where_to_put_it_and_what_it_leaves_out(names: NameResolver) -> None:
    problem = untimed(names, 64).problem
    written = write_answer("vllm", problem, choices({"BLOCK_SIZE_M": 16}, {}))
    assert written.notes == (
        "1 recommendations set no parameter and are left out",
        "save it as E=8,N=64,device_name=NVIDIA_A100.json",
    )


@pytest.mark.parametrize(
    ("form", "configuration", "reason"),
    [
        ("env", {"fsdp.sharding": 1}, "environment variable"),
        ("optuna", {"tile": [1, 2]}, "lists"),
        ("triton", {"num_warps": "many"}, "no whole number"),
        ("yaml", {}, "sets no parameter"),
        ("toml", {"a": 1}, "no format 'toml'"),
    ],
)
def test_a_form_that_cannot_hold_the_answer_says_so(
    names: NameResolver, form: str, configuration: dict[str, object], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        write_answer(form, untimed(names, 1).problem, choices(configuration))


def test_a_tuning_table_of_another_operator_is_refused(names: NameResolver) -> None:
    with pytest.raises(InputError, match="no tuning table"):
        write_answer("vllm", rich_cases(names)[0].problem, choices({"a": 1}))
