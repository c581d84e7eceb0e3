"""The question that layouts are priced by."""

from dataclasses import replace
from typing import Any

import pytest

from recommender.cost_model.assumed import USUAL_LENGTH
from recommender.cost_model.priced_step import price
from recommender.ranking.layout_question import LayoutQuestion
from recommender.ranking.starts.draft import StartDraft
from recommender.ranking.starts.pricing import layout_question, started_price, why_unpriced
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.ranking.starts.situations import agreed, draft, recipe, weighed

QUESTION: dict[str, Any] = {"model": "qwen3-8b", "phase": "serving", "hardware": "910b3", "count": 2}


def asked_if_any(workspace: Workspace, begun: StartDraft, **more: Any) -> LayoutQuestion | None:
    """The question of a draft; what is assumed stands in its notes."""
    problem, _ = workspace.problem({**QUESTION, **more})
    about = workspace.snapshot.recommender.planner.starts.situation(problem)
    assert about is not None
    begun.situation = about
    return layout_question(begun, workspace.ask.model_facts(problem), workspace.hardware)


def asked(*told: Any, **more: Any) -> LayoutQuestion:
    made = asked_if_any(*told, **more)
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("quantised", "published", "precision"),
    [(None, "", "bf16"), ("ascend", "w8a8", "int8"), ("ascend", "W4A8", "w4a8"), ("fp8", "fp8", "fp8")],
)
def test_what_the_start_quantises_to_is_priced(
    shipped: Workspace, quantised: str | None, published: str, precision: str
) -> None:
    kept = () if quantised is None else (agreed("--quantization", quantised),)
    behind = weighed(recipe("r", {"--quantization": "x"}, precision=published))
    made = asked(shipped, draft(*kept, behind=behind))
    assert made.question.settings["precision"] == precision


def test_drafts_of_the_start_are_priced(shipped: Workspace) -> None:
    method = agreed("speculative_config.method", "mtp")
    made = asked(shipped, draft(method), model="deepseek-r1", count=16)
    plain = asked(shipped, draft(), model="deepseek-r1", count=16)
    assert made.question.settings["speculative_tokens"] == 1
    assert "speculative_tokens" not in plain.question.settings


def test_layouts_are_priced_with_engines_that_prefill_together_where_the_start_has_them(
    shipped: Workspace,
) -> None:
    question: dict[str, Any] = {"model": "deepseek-r1", "hardware": "ascend-910c", "count": 16}
    told = agreed("SGLANG_SCHEDULER_DECREASE_PREFILL_IDLE", "1")
    for kept, engines in (((told,), "balanced"), ((), None)):
        made = asked(shipped, draft(*kept), **question, software={"sglang": "0.5.23"})
        assert made.question.settings.get("engines") == engines


@pytest.mark.parametrize(("hardware", "separation"), [("910b3", "separate"), ("mi300x", None)])
def test_what_decodes_alone_is_priced_without_prefills(
    shipped: Workspace, hardware: str, separation: str | None
) -> None:
    made = asked(shipped, draft(), hardware=hardware, traits={"disaggregated": True, "role": "decode"})
    assert made.question.settings.get("separation") == separation


def test_a_stated_precision_holds_where_nothing_is_quantised(shipped: Workspace) -> None:
    made = asked(shipped, draft(), precision="fp16")
    assert made.question.settings["precision"] in {"fp16", "float16"}


def test_the_engine_that_is_assumed_is_priced_like_one_that_is_stated(shipped: Workspace) -> None:
    assumed = asked(shipped, draft())
    engine, version = assumed.question.engine, assumed.question.version
    assert engine == "vllm-ascend"
    stated = asked(shipped, draft(), software={engine: version})
    assert (stated.question.engine, stated.question.version) == (engine, version)


def test_a_layout_that_runs_now_does_not_hold_the_others_fixed(shipped: Workspace) -> None:
    made = asked(shipped, draft(), current={"tensor_parallel_size": 2, "max_num_seqs": 8})
    assert "tensor_parallel" not in made.question.settings


@pytest.mark.parametrize(
    ("current", "more", "load"),
    [
        ({"max_num_seqs": 8}, {}, (None, 8.0)),  # of one engine
        ({"max_num_seqs": 8}, {"shape": {"data_parallel": 2}}, (None, 8.0)),
        ({"max_running_requests": 8}, {"shape": {"data_parallel": 2}}, (8.0, None)),  # of all
        ({"max_num_seqs": "auto"}, {}, (None, None)),
    ],
)
def test_what_runs_at_once_now_runs_at_once_then(
    shipped: Workspace, current: dict[str, Any], more: dict[str, Any], load: tuple[float | None, float | None]
) -> None:
    made = asked(shipped, draft(), current=current, **more)
    assert (made.concurrency, made.most_of_engine) == load


def test_training_holds_what_recipes_agree_on_and_assumes_a_length(shipped: Workspace) -> None:
    begun = draft(agreed("--micro-batch-size", "2"), agreed("--recompute-granularity", "full"))
    made = asked(shipped, begun, phase="training", count=8)
    settings = made.question.settings
    assert (settings["micro_batch"], settings["recompute"]) == (2, "full")
    assert settings["seq_len"] == USUAL_LENGTH
    assert "sequences of 4,096 tokens" in [fact.words for fact in begun.assumed]
    stated = draft()
    made = asked(shipped, stated, phase="training", count=8, shape={"seq_len": 8192})
    assert made.question.settings["seq_len"] == 8192
    assert stated.notes == []


def test_a_model_of_unknown_sizes_is_not_priced_and_the_draft_says_so(shipped: Workspace) -> None:
    begun = draft()
    assert asked_if_any(shipped, begun, model="glm-large") is None
    assert begun.notes[0].startswith("layouts are not priced: glm-large")


def test_a_network_without_blocks_is_not_split(shipped: Workspace) -> None:
    made = asked(shipped, draft(), model="resnet50", phase="training")
    assert not made.splits
    assert "seq_len" not in made.question.settings
    begun = draft()
    assert asked_if_any(shipped, begun, model="resnet50_barlowtwins-pre", phase="training") is None
    assert any("what its layers keep in memory is not known" in note for note in begun.notes)


def test_a_framework_that_does_not_split_is_known(shipped: Workspace) -> None:
    made = asked(shipped, draft(), model="bert-large", phase="training")
    assert not made.splits
    served = asked(shipped, draft())
    assert served.splits


def test_what_prefills_alone_writes_one_token(shipped: Workspace) -> None:
    first = draft()
    made = asked(shipped, first, shape={"output_len": 512}, traits={"disaggregated": True, "role": "prefill"})
    assert made.question.settings["output_len"] == 1
    assert "answers of 1 token (prefill)" in [fact.words for fact in first.assumed]


@pytest.mark.parametrize(
    ("program", "stages"),
    [
        ("transformers", [None, 2.0, 3.0]),
        ("ms-swift", [None, 2.0, 3.0]),
        ("torchtune", []),
        ("mindspeed-llm", []),
    ],
)
def test_a_trainer_that_replicates_may_share_out_what_replicas_hold(
    shipped: Workspace, program: str, stages: list[float | None]
) -> None:
    made = asked(shipped, draft(), phase="training", software={program: ""})
    assert [one.get("zero_stage") for one in made.shards] == stages
    assert (made.question.settings.get("zero_stage") == 1) == (program == "mindspeed-llm")
    told = asked(shipped, draft(), phase="training", software={program: ""}, current={"zero_stage": 3})
    assert told.shards == ()


def test_a_trainer_of_adapters_trains_them_unless_told(shipped: Workspace) -> None:
    begun = draft()
    made = asked(shipped, begun, phase="training", software={"llama-factory": ""})
    assert made.question.settings["lora_rank"] == 8
    assert [fact.name for fact in begun.assumed] == ["traits.lora_rank", "shape.seq_len"]
    full = asked(shipped, draft(), phase="training", software={"llama-factory": ""}, traits={"lora_rank": 0})
    assert full.question.settings["lora_rank"] == 0


def test_a_started_question_has_a_price_and_what_cannot_be_priced_has_a_reason(shipped: Workspace) -> None:
    made = asked(shipped, draft())
    priced = started_price(made.question)
    assert priced == price(made.question)[0]
    assert why_unpriced(made.question) == ""
    odd = replace(made.question, settings={**made.question.settings, "precision": "no such format"})
    assert started_price(odd) is None
    assert "no such format" in why_unpriced(odd)
    assert started_price(None) is None
