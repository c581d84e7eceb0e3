"""Questions as people put them: everything wrong at once, everything assumed said."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.questions.aims import KnownOperator
from ingest.questions.limits import parse_limit
from ingest.questions.problems import problem_from, resolved_problem
from kg.errors import InputError, UnknownEntityError
from kg.nouns.entities import Better, Hardware, WorkloadKind
from kg.nouns.values import Settings
from kg.triples.names import ResolvedModel, ResolvedName

KNOWN: dict[str, dict[str, ResolvedName]] = {
    "hardware": {
        "910b3": ResolvedName(id="ascend-910b3"),
        "910": ResolvedName(id="ascend-910a", note="910 is taken as 910A"),
    },
    "model": {
        "bert": ResolvedModel(id="bert-large"),
        "bert-awq": ResolvedModel(id="bert-large", weights="w4a16"),
        "bert-fp8": ResolvedModel(id="bert-large", weights="fp8"),
        "bert-of-mine": ResolvedModel(id="bert-large", note="bert-of-mine is taken", passed_over=("mine",)),
    },
    "bottleneck": {"wait": ResolvedName(id="collective-wait"), "memory": ResolvedName(id="memory")},
}


class Names:
    """A few names."""

    def hardware(self, text: str, count: int | None = None) -> ResolvedName:
        return self._find("hardware", text)

    def model(self, text: str) -> ResolvedModel:
        found = self._find("model", text)
        assert isinstance(found, ResolvedModel)
        return found

    def models_of_size(self, sizes: Mapping[str, object]) -> tuple[str, ...]:
        return ("bert-large", "bert-twin") if sizes.get("layers") == 24 else ()

    def bottleneck(self, text: str) -> ResolvedName:
        return self._find("bottleneck", text)

    def phases_of(self, program: str) -> tuple[str, ...]:
        return {
            "servant": ("inference", "decode"),
            "trainer": ("training",),
            "both": ("training", "inference"),
        }.get(program, ())

    def _find(self, kind: str, text: str) -> ResolvedName:
        if text not in KNOWN[kind]:
            raise UnknownEntityError(f"no {kind} named {text!r}", hint="did you mean another?")
        return KNOWN[kind][text]


def operator(name: str) -> KnownOperator:
    if name != "gemm":
        raise UnknownEntityError(f"no case of an operator named {name!r}")
    return KnownOperator(name="gemm", kind=WorkloadKind.KERNEL, metric="gflops", better=Better.HIGHER)


def ask(**raw: Any) -> Any:
    return problem_from({"model": "bert", "phase": "training", "hardware": "910b3", **raw}, Names(), operator)


def test_a_plain_question_becomes_a_problem() -> None:
    problem, notes = ask(
        shape={"seq_len": 128},
        precision="BF16",
        count=8,
        limits=["peak_memory <= 32GB", "accuracy_loss<=0.5%"],
        bottlenecks={"wait": "28%", "memory": None},
        current={"a": 1},
        software={"cann": "8.0"},
    )
    assert notes == ()
    assert (problem.workload.model, problem.workload.operator) == ("bert-large", "train")
    assert problem.workload.precision == "bfloat16"
    assert problem.hardware.name == "ascend-910b3"
    assert [(limit.metric, limit.maximum, limit.unit) for limit in problem.limits] == [
        ("accuracy_loss", 0.005, "1"),
        ("peak_memory", 32e9, "B"),
    ]
    assert problem.bottlenecks.to_json() == {"collective-wait": 0.28, "memory": None}
    assert problem.objective.metric == "throughput"


def test_what_was_assumed_is_said() -> None:
    raw = {"model": "bert", "hardware": "910", "precision": "fp7e9"}
    _, notes = problem_from(raw, Names(), operator)
    assert set(notes) == {"no phase given: training is assumed", "910 is taken as 910A"}
    _, notes = ask(bottlenecks={"wait": 0.7, "memory": 0.6})
    assert any("shares exceed 1 together" in note for note in notes)


@pytest.mark.parametrize(
    ("told", "kind", "said"),
    [
        ({"shape": {"output_len": 256}}, "serving", "serving, as output_len is of it"),
        ({"traits": {"concurrency": 8}}, "serving", "serving, as concurrency is of it"),
        ({"limits": ["ttft_p99 <= 2s"]}, "serving", "serving, as ttft_p99 is of it"),
        ({"objective": "tpot"}, "serving", "serving, as tpot is of it"),
        ({"software": {"servant": "1"}}, "serving", "serving, as servant is of it"),
        (
            {"software": {"trainer": "1"}, "shape": {"input_len": 64}},
            "training",
            "training, as trainer is of it",
        ),
        ({"software": {"both": "1", "cuda": "12"}}, "training", "training is assumed"),
        (
            {"traits": {"method": "lora"}, "shape": {"input_len": 64}},
            "training",
            "training, as method is of it",
        ),
        ({"traits": {"lora": True, "concurrency": 8}}, "serving", "serving, as concurrency is of it"),
        ({"limits": ["peak_memory <= 32GB"]}, "training", "training is assumed"),
    ],
)
def test_a_phase_that_is_not_named_is_that_of_what_is_told(
    told: dict[str, Any], kind: str, said: str
) -> None:
    problem, notes = problem_from({"model": "bert", "hardware": "910b3", **told}, Names(), operator)
    assert (problem.workload.kind, f"no phase given: {said}" in notes) == (kind, True)


def test_current_settings_that_are_not_told_are_not_empty_ones() -> None:
    assert ask()[0].current is None
    assert ask(current={})[0].current is not None
    assert ask()[0].id != ask(current={})[0].id


def test_an_operator_brings_its_own_metric() -> None:
    problem, _ = problem_from({"op": "gemm", "hardware": "910b3"}, Names(), operator)
    assert (problem.workload.kind, problem.objective.metric, problem.objective.better) == (
        WorkloadKind.KERNEL,
        "gflops",
        Better.HIGHER,
    )
    problem, _ = problem_from({"op": "gemm", "hardware": "910b3", "objective": "gflops"}, Names(), operator)
    assert problem.objective.metric == "gflops"


def test_bottlenecks_may_be_a_list_of_names() -> None:
    assert ask(bottlenecks=["wait", "memory"])[0].bottlenecks.to_json() == {
        "collective-wait": None,
        "memory": None,
    }


def test_everything_wrong_is_told_at_once() -> None:
    with pytest.raises(InputError) as raised:
        ask(
            model="bret",
            hardware="nowhere",
            objective="speed",
            limits=["peak_memory<=1parsec"],
            bottlenecks={"nothing": 2},
            current=[1],
            software={"cann": 8.5},
        )
    said = str(raised.value)
    for part in ("bret", "nowhere", "speed", "parsec", "nothing", "current", "cann"):
        assert part in said
    assert said.count(";") >= 6


def test_one_fault_keeps_its_kind_and_hint() -> None:
    with pytest.raises(UnknownEntityError) as raised:
        ask(hardware="nowhere")
    assert raised.value.hint == "did you mean another?"


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ({"count": 0}, "0 is not a number of devices"),
        ({"count": -1}, "-1 is not a number of devices"),
        ({"count": 2.5}, "2.5 is not a number of devices"),
        ({"count": True}, "True is not a number of devices"),
        ({"phase": "trainig"}, "unknown phase 'trainig'"),
        ({"phase": "kernel"}, "phase kernel needs --op"),
        ({"model": None}, "nothing to tune"),
        ({"hardware": None}, "no hardware"),
        ({"hardware": ""}, "expected a name"),
        ({"shape": {"M": -1}}, "a size is not negative"),
        ({"shape": {"M": math.nan}}, "shape: M: nan is not a finite number"),
        ({"shape": {"M": math.inf}}, "shape: M: inf is not a finite number"),
        ({"shape": {"M": ""}}, "shape: M has no size"),
        ({"shape": [1, 2]}, "shape: expected names and values"),
        ({"current": {"a": object}}, "current: a:"),
        ({"objective": "latencyy"}, "no metric named 'latencyy'"),
        ({"limits": "peak_memory<=1GB"}, "limits: expected a list"),
        ({"limits": ["peak_memory"]}, "expected metric<=value"),
        ({"limits": ["latency<=-1ms"]}, "nothing can keep it"),
        ({"limits": ["peak_memory<=0GB"]}, "nothing can keep it"),
        ({"limits": ["latency<=1e999s"]}, "is not a limit"),
        ({"limits": ["latency<=1"]}, "a bare number"),
        ({"limits": ["peek_memory<=1GB"]}, "no metric named 'peek_memory'"),
        ({"limits": ["latency<=1ms", "latency<=2ms"]}, "contradict each other"),
        ({"bottlenecks": {"wait": 1.5}}, "a share is between 0 and 1"),
        ({"bottlenecks": {"wait": "28%%"}}, "is not a share"),
        ({"bottlenecks": {"wait": math.nan}}, "nan is not a finite number"),
        ({"software": {"torch": 2.1}}, "write the version in quotes"),
        ({"software": {"vllm": "banana"}}, "names no release"),
    ],
)
def test_what_is_wrong_is_named(raw: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as raised:
        ask(**raw)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("text", "maximum", "unit"),
    [
        ("peak_memory<=32GB", 32e9, "B"),
        ("peak_memory<=32GiB", 32 * 2**30, "B"),
        ("latency < 20 ms", 0.02, "s"),
        ("latency ≤ 20us", 20e-6, "s"),
        ("accuracy_loss: 0.5%", 0.005, "1"),
        ("power<=300W", 300, "W"),
    ],
)
def test_a_limit_is_read_in_si(text: str, maximum: float, unit: str) -> None:
    limit = parse_limit(text)
    assert limit.maximum == pytest.approx(maximum)
    assert limit.unit == unit


@given(
    st.dictionaries(
        st.sampled_from(
            ["model", "op", "phase", "shape", "precision", "traits", "hardware", "count", "objective"]
        )
        | st.sampled_from(["limits", "bottlenecks", "current", "software"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
            ),
            max_leaves=6,
        ),
    )
)
def test_no_content_does_worse_than_bad_input(raw: dict[str, Any]) -> None:
    try:
        problem, _ = problem_from(raw, Names(), operator)
    except InputError:
        return
    assert problem.id


def test_sizes_stand_for_the_model_that_has_them() -> None:
    problem, notes = ask(model=None, sizes={"layers": 24, "hidden_size": 1024})
    assert problem.workload.model == "bert-large"
    assert not problem.workload.shape
    assert notes == ("recognised as bert-large by its sizes, and those of 1 more; say --model",)


def test_a_name_chooses_among_the_models_that_have_the_sizes() -> None:
    assert ask(model="bert", sizes={"layers": 24})[1] == ()
    assert ask(model="bert", sizes={"layers": 2})[1] == ()
    problem, notes = ask(model="bert", sizes={"layers": 2, "hidden_size": 8, "attention_heads": 2})
    assert problem.workload.model == "bert-large"
    assert dict(problem.workload.shape) == {"layers": 2, "hidden_size": 8, "attention_heads": 2}
    assert notes == ("the sizes are not those of bert-large: name and sizes are as given",)


def test_a_model_of_ones_own_is_its_sizes() -> None:
    sizes = {"layers": 3, "hidden_size": 64, "architecture": "decoder"}
    problem, notes = ask(model="My Model", sizes=sizes)
    assert problem.workload.model == "my-model"
    assert dict(problem.workload.shape) == {"layers": 3, "hidden_size": 64}
    assert dict(problem.workload.traits) == {"architecture": "decoder"}
    assert "no known model has these sizes" in notes[0]


def test_what_a_reader_of_other_forms_assumed_is_passed_on() -> None:
    assert ask(notes=["x.sh: could not be read: --a is $B"])[1] == ("x.sh: could not be read: --a is $B",)


def test_the_format_of_the_weights_is_told_by_the_name_unless_something_else_is() -> None:
    assert ask(model="bert-awq")[0].workload.precision == "w4a16"
    for name in ("int4", "AWQ"):
        assert ask(model="bert", precision=name, phase="serving")[0].workload.precision == "w4a16"
    assert ask(model="bert-fp8", phase="serving")[0].workload.precision == "fp8"
    assert ask(model="bert-fp8", phase="training")[0].workload.precision is None
    problem, notes = ask(model="bert-awq", precision="fp8")
    assert problem.workload.precision == "fp8"
    assert "precision says fp8 and model w4a16: fp8 is taken" in notes
    problem, notes = ask(model="bert-awq", current={"quantization": "modelopt_fp4"})
    assert problem.workload.precision == "nvfp4"
    assert "current.quantization says nvfp4 and model w4a16: nvfp4 is taken" in notes
    assert ask(model="bert", current={"quantization": "w8a8_int8"}, precision="w8a8")[1] == ()
    problem, _ = ask(model="bert-awq", precision="bfloat16", origins={"precision": "file"})
    assert problem.workload.precision == "w4a16"
    assert problem.situation.facts["precision"].origin == "told"


def test_a_format_that_nobody_knows_is_refused_and_never_replaced() -> None:
    assert ask(model="bert", precision="Q5_K_M", phase="serving")[0].workload.precision == "q5_k_m"
    with pytest.raises(InputError, match="no number format named 'foo' is known"):
        ask(model="bert", precision="foo")
    with pytest.raises(InputError, match="weights in q4_k_m are for serving, not for training"):
        ask(model="bert", precision="Q4_K_M", phase="training")


def test_a_problem_of_a_program_has_its_names_resolved_as_a_question_has() -> None:
    asked, notes = ask(model="bert-awq", hardware="910", shape={"seq_len": 128})
    work = replace(asked.workload, model="bert-awq", precision=None)
    problem, said = resolved_problem(
        replace(asked, workload=work, hardware=Hardware(name="910", count=None)), Names()
    )
    assert problem == asked
    assert said == ("910 is taken as 910A",)
    assert notes == said
    own = replace(work, model="mine", shape=Settings({"hidden_size": 64}))
    assert (
        resolved_problem(replace(asked, workload=own, hardware=Hardware(name="910b3")), Names())[0].workload
        == own
    )
    with pytest.raises(UnknownEntityError, match="no model named 'mine'"):
        resolved_problem(
            replace(asked, workload=replace(work, model="mine"), hardware=Hardware(name="910b3")), Names()
        )


def test_a_name_with_an_unknown_word_is_answered_with_a_note() -> None:
    problem, notes = ask(model="bert-of-mine")
    assert problem.workload.model == "bert-large"
    assert notes == ("bert-of-mine is taken",)
