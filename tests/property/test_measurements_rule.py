"""Law 9: after k measurements of exactly a question the decision is the best of them, with its own number."""

import json
import math
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kg.nouns.layout import ParallelLayout
from kg.terms.dialects import layout_of
from kg.terms.purposes import plain_key
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.ranking.measured.served_cases import with_cases

MODELS = ("qwen3-8b", "qwen3-32b", "llama-3.1-8b", "llama-3.3-70b", "qwen3-30b-a3b", "house-13b")
"""The last is one that nothing but its measurements is known of."""
PLACES = (("910B3", "vllm-ascend"), ("h100-sxm", "vllm"), ("h100-sxm", "sglang"), ("h200", "vllm"))
NAMES = {
    "tp": ("tp", "tensor_parallel", "tensor_parallel_size", "tensor-parallel-size", "--tensor-parallel-size"),
    "pp": ("pp", "pipeline_parallel", "pipeline_parallel_size", "--pipeline-parallel-size"),
    "dp": ("dp", "data_parallel", "data_parallel_size", "--data-parallel-size"),
}
TUNED: dict[str, dict[str, object]] = {
    "vllm": {"enforce_eager": True, "max_num_batched_tokens": 3072, "kv_cache_dtype": "fp8"},
    "vllm-ascend": {"enforce_eager": True, "max_num_batched_tokens": 3072},
    "sglang": {"disable_cuda_graph": True, "chunked_prefill_size": 3072},
}
"""Settings of a run beside its layout; each sets its own, and nothing of the others."""
CALLED = {"vllm-ascend": ("vllm-ascend", "vllm")}
"""Programs that results name: vLLM's own benchmark speaks to the plugin as to vLLM."""
IN_THE_SUITE, IN_ALL = 4, 500
TOGETHER = 50
"""Sets that one workspace holds: each set must be found among the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSet:
    """The measurements of one question."""

    question: dict[str, object]
    rows: tuple[dict[str, object], ...]
    layouts: tuple[ParallelLayout, ...]
    values: tuple[float, ...]
    kept: tuple[float, ...]
    """Those of its values whose runs were measured to keep its limits."""


def measured_set(chance: random.Random, number: int) -> MeasuredSet:
    """A random question with measurements of one to four layouts, each spelt as somebody would, set one to three ways."""
    device, engine = chance.choice(PLACES)
    count = chance.choice((1, 2, 4, 8))
    shape = {"input_len": 100 + number, "output_len": chance.choice((64, 128, 1000))}
    model = chance.choice(MODELS)
    split = [(tp, pp, count // tp // pp) for tp in (1, 2, 4, 8) for pp in (1, 2) if not count % (tp * pp)]
    tuned = list(TUNED[engine].items())
    drawn = [
        (sizes, tuple(item for item in tuned if chance.random() < 0.4))
        for sizes in chance.sample(split, min(len(split), chance.randint(1, 4)))
        for _ in range(chance.randint(1, 3))
    ]
    chosen = list(dict.fromkeys(drawn))
    load = chance.choice((8, 64, 256))
    metric = chance.choice(("throughput", "throughput", "tpot"))
    rows, values = [], []
    for sizes, beside in chosen:
        config: dict[str, object] = {"framework": engine} if chance.random() < 0.5 else {}
        for name, size in zip(("tp", "pp", "dp"), sizes, strict=True):
            if size > 1 or chance.random() < 0.3:
                config[chance.choice(NAMES[name])] = size
        config |= dict(beside)
        value = (
            round(10 ** chance.uniform(1, 5), 1)
            if metric == "throughput"
            else round(chance.uniform(5, 200), 3)
        )
        values.append(value if metric == "throughput" else value / 1000)
        rows.append(
            {
                "task": {
                    "kind": "serving", "op": chance.choice(("serve", "llm_serve")), "model": model,
                    "shape": shape | {"concurrency": load},
                },
                "hardware": {"name": device, "count": count},
                "config": config,
                "software": {chance.choice(CALLED.get(engine, (engine,))): ""},
                "outcome": {"metric": metric, "unit": "tokens/s" if metric == "throughput" else "ms", "value": value},
                "source": {"title": f"set {number}"},
            }
        )  # fmt: skip
    question: dict[str, object] = {}
    first_ms = [round(chance.uniform(50, 5000), 1) for _ in chosen]
    if metric == "throughput" and chance.random() < 0.5:  # what answers begin within was measured too
        question["limits"] = [f"ttft_p99<={max(min(first_ms), chance.uniform(50, 5000))}ms"]
        rows += [
            {**row, "outcome": {"metric": "ttft_p99", "unit": "ms", "value": value}}
            for row, value in zip(tuple(rows), first_ms, strict=True)
        ]
    question |= {
        "model": model, "phase": "serving", "hardware": device, "count": count, "shape": shape,
        "software": {engine: ""}, "objective": metric,
    }  # fmt: skip
    if chance.random() < 0.5:
        question["traits"] = {"concurrency": load}
    layouts = tuple(ParallelLayout(tp=tp, pp=pp, dp=dp) for (tp, pp, dp), _ in chosen)
    limit = (
        float(str(question["limits"]).partition("=")[2].strip("]'ms")) if "limits" in question else math.inf
    )
    kept = tuple(value for value, first in zip(values, first_ms, strict=True) if first <= limit)
    return MeasuredSet(question=question, rows=tuple(rows), layouts=layouts, values=tuple(values), kept=kept)


def broken(workspace: Workspace, one: MeasuredSet) -> str:
    """The way in which an answer breaks the law; empty if it holds."""
    problem, notes = workspace.problem(one.question)
    plan = workspace.recommend(problem, 3, notes=notes).plan
    if plan is None or not plan.start.expected:
        return "no start with a number"
    best = (min if one.question["objective"] == "tpot" else max)(one.kept)
    start, number = plan.start, plan.start.expected[0]
    if (number.tier, number.metric) != ("measured here", one.question["objective"]):
        return f"{number.metric} is {number.tier}"
    if abs(number.value / best - 1) > 1e-9:
        return f"{number.value}, where {best} was measured"
    if start.layout not in {lay for lay, value in zip(one.layouts, one.values, strict=True) if value == best}:
        return f"{start.layout}, which has another number"
    written = layout_of(start.configuration, start.framework)
    if written.devices != one.question["count"] or written.split[:3] != start.layout.split[:3]:
        return f"{start.paste_lines} is {written}"
    tuned = [
        {name for name in TUNED[start.framework] if name in str(row["config"])}
        for row, lay, value in zip(one.rows, one.layouts, one.values, strict=False)
        if value == best and lay == start.layout
    ]
    if {plain_key(name) for name in start.configuration} & TUNED[start.framework].keys() not in tuned:
        return f"{start.paste_lines} sets other than {tuned}"
    if any(
        other.value > number.value and other.tier == "measured here" and number.metric == "throughput"
        for item in plan.alternatives
        for other in item.expected[:1]
    ):
        return "an alternative was measured better"
    return ""


@pytest.mark.parametrize(
    ("first", "number"),
    [
        (0, IN_THE_SUITE),
        *(pytest.param(at, TOGETHER, marks=pytest.mark.long) for at in range(0, IN_ALL, TOGETHER)),
    ],
)
def test_the_best_measurement_of_a_question_is_its_decision(
    first: int, number: int, shipped_path: Path, tmp_path: Path
) -> None:
    chance = random.Random(first + number)
    sets = [measured_set(chance, first + at) for at in range(number)]
    rows = [row for one in sets for row in one.rows]
    with with_cases(shipped_path, tmp_path, *rows) as workspace:
        found = {at: why for at, one in enumerate(sets) if (why := broken(workspace, one))}
    assert not found, f"{len(found)} of {number}: {found} {sets[min(found)]}"


TABLES = 200
OTHER_QUESTIONS: tuple[dict[str, object], ...] = (
    {"model": "qwen3-32b", "phase": "serving", "hardware": "910B3", "count": 4},
    {"model": "llama-3.1-8b", "phase": "serving", "hardware": "h100-sxm", "count": 1},
    {"model": "llama-2-7b", "phase": "training", "hardware": "910B1", "count": 8, "shape": {"seq_len": 4096}},
    {"op": "gemm", "hardware": "910B3", "shape": {"M": 1024, "N": 1024, "K": 1024}, "precision": "float16"},
    {"op": "softmax", "hardware": "910B3", "shape": {"M": 4096, "N": 1024}, "precision": "float32"},
)


def own_kernel_table(chance: random.Random, number: int) -> list[dict[str, object]]:
    """A table of somebody's own kernel: other names, all kinds of devices, repeats, and now and then an outlier."""
    device = chance.choice(("910B3", "h100-sxm", "A100-SXM4-80GB", "my-card"))
    middle, best = 10 ** chance.uniform(-2, 2), chance.random() < 0.1
    rows: list[dict[str, object]] = []
    for at in range(chance.randint(3, 16)):
        value = middle * chance.lognormvariate(0, 0.3) * (0.01 if best and not at else 1)
        rows.append(
            {
                "task": {"kind": "kernel", "op": f"own_kernel_{number}", "shape": {"n": 2 ** chance.randint(8, 24)}},
                "hardware": {"name": device},
                "config": {"tile": 2 ** chance.randint(0, 6), "stages": chance.randint(1, 4)},
                "outcome": {"metric": "kernel_time", "unit": "ms", "value": value},
                "source": {"title": f"table {number}"},
            }
        )  # fmt: skip
    return rows


@pytest.mark.long
def test_tables_of_others_change_no_figure_of_other_questions(shipped_path: Path, tmp_path: Path) -> None:
    shutil.copytree(shipped_path, tmp_path / "workspace")
    folder = tmp_path / "tables"
    folder.mkdir()
    chance = random.Random(45)
    for number in range(TABLES):
        lines = (json.dumps(row) + "\n" for row in own_kernel_table(chance, number))
        (folder / f"{number}.jsonl").write_text("".join(lines))

    def figures() -> list[str]:
        with Workspace.open(tmp_path / "workspace", cache=shipped_path.parent / "cache") as workspace:
            return [str(workspace.recommend(question, 3)) for question in OTHER_QUESTIONS]

    before = figures()
    with Workspace.open(tmp_path / "workspace", cache=shipped_path.parent / "cache") as workspace:
        assert workspace.ingest(folder).added.rows > TABLES
    assert figures() == before


LENGTHS = {"input_len": 777, "output_len": 128}
LOADS: list[dict[str, object]] = [
    {
        "task": {"kind": "serving", "op": "serve", "model": "qwen3-32b", "shape": LENGTHS | {"concurrency": load}},
        "hardware": {"name": "h100-sxm", "count": 2},
        "software": {"vllm": ""},
        "config": {"tensor_parallel_size": 2},
        "outcome": {"metric": "throughput", "unit": "tokens/s", "value": value},
        "source": {"title": "made by hand"},
    }
    for load, value in ((8, 250.0), (32, 860.0), (72, 1600.0))
]  # fmt: skip
BATCHES = {"seq_len": 8192, "global_batch": 256}
HOUSE: list[dict[str, object]] = [
    {
        "task": {"kind": "training", "op": "pretrain", "model": "house-13b", "shape": BATCHES},
        "hardware": {"name": "910B2", "count": 64},
        "config": {"tensor_model_parallel_size": 1, "micro_batch_size": micro, "own_knob": "fast"},
        "outcome": {"metric": "step_time", "unit": "s", "value": seconds},
        "source": {"title": "made by hand"},
    }
    for micro, seconds in ((1, 18.0), (2, 16.0), (4, 17.0))
]
LAPTOP: list[dict[str, object]] = [
    {
        "task": {"kind": "serving", "op": "serve", "model": "qwen3-8b", "shape": {"output_len": 96}},
        "hardware": {"name": "a processor of mine"},
        "software": {"llama.cpp": ""},
        "config": {"threads": threads, "no_kv_offload": 0},
        "outcome": {"metric": "decode_throughput", "unit": "tokens/s", "value": rate},
        "source": {"title": "made by hand"},
    }
    for threads, rate in ((4, 12.6), (8, 14.1), (16, 11.0))
]


@pytest.fixture(scope="module")
def measured(shipped_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The shipped knowledge with runs that were measured by hand."""
    place = tmp_path_factory.mktemp("measured")
    with with_cases(shipped_path, place, *LOADS, *HOUSE, *LAPTOP) as workspace:
        yield workspace


def test_loads_of_one_configuration_are_no_repetitions_of_it(measured: Workspace) -> None:
    question: dict[str, object] = {
        "model": "qwen3-32b", "phase": "serving", "hardware": "h100-sxm", "count": 2, "shape": LENGTHS,
        "software": {"vllm": ""}, "objective": "throughput",
    }  # fmt: skip
    plan = measured.recommend(question, 3).plan
    predicted = measured.ask.predict(measured.problem(question)[0], 3)
    silent = {name: value for name, value in question.items() if name != "shape"}
    same = measured.recommend(silent, 3).plan
    estimated = measured.ask.estimate(silent, settings={"batch": 32})
    assert plan is not None
    assert same is not None
    assert same.start.expected[0] == plan.start.expected[0]  # lengths are those of one's own runs
    assert "prompts of 777 tokens (as your own runs had)" in [fact.words for fact in estimated.assumed]
    assert any(note.startswith("measured: throughput 860 tokens/s") for note in estimated.notes)
    number = plan.start.expected[0]
    assert (number.value, number.low, number.tier) == (1600.0, 1600.0, "measured here")
    assert "measured: 1,600 tokens/s with TP 2" in predicted.start


def test_what_only_measurements_know_starts_as_the_best_of_them_ran(measured: Workspace) -> None:
    """A program that has no words of its own takes what the script that was measured took."""
    question: dict[str, object] = {
        "model": "house-13b", "phase": "training", "hardware": "910B2", "count": 64, "shape": BATCHES,
    }  # fmt: skip
    answer = measured.recommend(question, 3)
    laptop = measured.recommend(
        {"model": "qwen3-8b", "phase": "serving", "hardware": "a processor of mine"}, 3
    ).plan
    assert laptop is not None  # neither program nor length is stated
    assert {plain_key(name): value for name, value in laptop.start.configuration.items()} == {
        "threads": 8,
        "kv_offload": True,
    }
    assert (laptop.start.expected[0].metric, laptop.start.expected[0].value) == ("decode_throughput", 14.1)
    assert answer.plan is not None
    started = answer.plan.start.configuration
    assert (started["micro_batch_size"], started["own_knob"]) == (2, "fast")
    assert answer.plan.start.expected[0].value == pytest.approx(8192 * 256 / 16.0)
    assert any("only measured cases are known" in note for note in answer.notes)
