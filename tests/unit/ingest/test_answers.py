"""Recommended configurations in the formats of other programs."""

import ast
import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from ingest.answers import ANSWERS, restriction, t4_of_choices, write_answer
from ingest.door.records import NameResolver
from kg.errors import InputError
from kg.nouns.entities import Case
from kg.nouns.values import Settings
from tests.samples.rich_cases import rich_cases, untimed

TUNED: dict[str, list[Any]] = {
    "block_size_x": [16, 32, 64, 128, 256],
    "tile": [1, 2, 4, 8],
    "mode": ["a", "b"],
    "unroll": [0, 1, 2, 4],
}
FAILS = "RuntimeFailedConfig"


def cost(x: int, tile: int, mode: str, unroll: int) -> float:
    away = abs(np.log2(x / 64)) + 0.5 * abs(np.log2(tile / 4))
    return float(1 + away + 0.3 * (mode == "b") + 0.1 * abs(unroll - 2))


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Results of all configurations, as Kernel Tuner caches them; wide blocks of eight tiles fail."""
    times = dict.fromkeys(
        ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"), 0
    )
    results = {}
    for point in product(*TUNED.values()):
        value: object = cost(*point)
        if point[0] == 256 and point[1] == 8:
            value = FAILS
        row = {**dict(zip(TUNED, point, strict=True)), "time": value, "gflops": 100.0, **times}
        row["gflops"] = 100 / value if isinstance(value, float) else FAILS
        row["timestamp"] = "2024-01-01 00:00:00+00:00"
        if value == FAILS:
            row["__error__"] = FAILS
        results[",".join(map(str, point))] = row
    document = {
        "device_name": "Recorded", "kernel_name": "toy", "problem_size": [1], "tune_params_keys": list(TUNED),
        "tune_params": TUNED, "objective": "time", "cache": results,
    }  # fmt: skip
    path = tmp_path / "toy.json"
    path.write_text(json.dumps(document))
    return path


def tuned(recorded: Path, **options: Any) -> list[dict[str, Any]]:
    kernel_tuner = pytest.importorskip("kernel_tuner", reason="Kernel Tuner is an optional extra")
    found, _ = kernel_tuner.tune_kernel(
        "toy", "__global__ void toy() {}", (1,), [], TUNED, lang="CUDA", simulation_mode=True,
        cache=str(recorded), verbose=False, quiet=True, **options,
    )  # fmt: skip
    return list(found)


def setting(result: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(result[name] for name in TUNED)


def test_a_list_as_a_restriction_leaves_that_list(recorded: Path) -> None:
    wanted = [
        {"block_size_x": 64, "tile": 4, "mode": "a", "unroll": 2},
        {"block_size_x": 32, "tile": 2, "mode": "b", "unroll": 0},
    ]
    scope: dict[str, Any] = {}
    exec(restriction([Settings(item) for item in wanted]), scope)  # noqa: S102  Python is what it writes
    results = tuned(recorded, restrictions=scope["restrictions"])
    assert sorted(setting(item) for item in results) == sorted(tuple(item.values()) for item in wanted)


def check_t4(text: str) -> list[dict[str, Any]]:
    """The results of a T4 document that Kernel Tuner's own schemas accept."""
    pytest.importorskip("kernel_tuner", reason="Kernel Tuner is an optional extra")
    import jsonschema
    from kernel_tuner.file_utils import output_file_schema

    document = json.loads(text)
    version, results_schema = output_file_schema("results")
    _, metadata_schema = output_file_schema("metadata")
    assert document["schema_version"] == version
    jsonschema.validate(document, results_schema)
    jsonschema.validate(document, metadata_schema)
    results: list[dict[str, Any]] = document["results"]
    return results


def test_recommended_configurations_pass_the_schema_of_t4(kernel_cases: list[Case]) -> None:
    text = t4_of_choices([case.configuration for case in kernel_cases[:3]])
    results = check_t4(text)
    assert [result["configuration"] for result in results] == [
        case.configuration.to_json() for case in kernel_cases[:3]
    ]
    assert {result["correctness"] for result in results} == {0}


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
