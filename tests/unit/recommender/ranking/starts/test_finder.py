"""Start configurations found in the shipped knowledge."""

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from kg.errors import InputError
from kg.nouns.layout import ParallelLayout
from kg.nouns.recipe import Authority
from recommender.cost_model.settings.plans import canonical_name
from recommender.ranking.plan_setting import Origin
from recommender.ranking.starts.finder import NO_ROOM
from recommender.ranking.starts.layout_choice import CLEARLY
from recommender.ranking.starts.layout_options import layout_options
from recommender.ranking.starts.situation import StartSituation
from recommender.ranking.starts.starts import Starts
from recommender.workspace.workspace import Workspace

QUESTION: dict[str, Any] = {"model": "qwen3-8b", "phase": "serving", "hardware": "910b3", "count": 2}


def situation(workspace: Workspace, **more: Any) -> StartSituation:
    problem, _ = workspace.problem({**QUESTION, **more})
    made = workspace.snapshot.recommender.planner.starts.situation(problem)
    assert made is not None
    return made


def starts(workspace: Workspace, **more: Any) -> Starts:
    about = situation(workspace, **more)
    finder = workspace.snapshot.recommender.planner.starts
    return finder.find(about, workspace.ask.model_facts(about.problem))


def test_a_situation_has_model_hardware_and_one_server_for_both_phases(shipped: Workspace) -> None:
    made = situation(shipped)
    assert (made.framework.id, made.framework.is_assumed) == ("vllm-ascend", True)
    assert (made.model.id, made.model.is_mixture, made.devices) == ("qwen3-8b", False, 2)
    assert made.hardware[0] == "ascend-910b3"
    assert (made.facts["role"], made.facts["disaggregated"]) == ("mixed", False)
    assert made.facts["software[vllm-ascend]"] == made.framework.version


def test_a_stated_role_has_recipes_of_its_own(shipped: Workspace) -> None:
    made = situation(
        shipped, model="deepseek-v3", hardware="atlas-800i-a3", count=32, traits={"role": "decode"}
    )
    assert (made.phase, made.facts["disaggregated"]) == ("decode", True)
    finder = shipped.snapshot.recommender.planner.starts
    found = finder.find(made, shipped.ask.model_facts(made.problem)).recipes
    assert found
    assert {str(one.recipe.role) for one in found} == {"decode"}


def test_weights_of_recipes_add_up_and_settings_have_their_shares(shipped: Workspace) -> None:
    found = starts(shipped)
    assert abs(sum(one.weight for one in found.recipes) - 1) < 1e-9
    assert {one.recipe.framework for one in found.recipes} == {"vllm-ascend"}
    begun = {item.key for item in found.first.settings}
    for item in found.first.settings:
        if item.origin is Origin.RECIPE and item.agreement is not None:
            assert item.agreement >= 0.5
    assert not begun & {item.key for item in found.further}


def test_a_model_that_nobody_described_is_replicated_and_said_to_be_unpriced(shipped: Workspace) -> None:
    found = starts(shipped, model="glm-large")
    assert found.first.layout == ParallelLayout(dp=2)
    assert (found.first.fits, found.first.expected) == (None, ())
    assert any(note.startswith("layouts are not priced: ") for note in found.notes)


def test_a_device_without_the_facts_of_a_price_has_a_layout_that_fits_and_the_reason(
    shipped: Workspace,
) -> None:
    found = starts(shipped, model="gemma-3-27b", hardware="instinct-mi308x", count=8)
    assert found.first.layout is not None
    assert any(note.startswith("layouts are not priced: instinct-mi308x: ") for note in found.notes)


def test_adapters_fit_where_full_training_does_not(shipped: Workspace) -> None:
    asked: dict[str, Any] = {
        "phase": "training",
        "model": "llama-2-7b",
        "hardware": "910B3",
        "count": 1,
    }
    assert not starts(shipped, **asked).first.fits
    for stated in ({"current": {"lora_rank": 16}}, {"traits": {"lora_rank": 16}}):
        adapted = starts(shipped, **asked, **stated).first
        assert adapted.fits
        assert "--lora-target-modules" in [item.key for item in adapted.settings]  # 16 is its own rank
        on_gpu = {**asked, "hardware": "geforce-rtx-4090", **stated}
        assert starts(shipped, **on_gpu).first.framework == "llama-factory"
        with pytest.raises(InputError, match="megatron-lm has no setting that says lora_rank=16"):
            starts(shipped, **on_gpu, software={"megatron-lm": ""})


def test_without_a_number_of_devices_a_larger_model_is_planned_on_the_fewest_that_hold_it(
    shipped: Workspace,
) -> None:
    found = starts(shipped, model="qwen3-32b", count=None, precision="bf16")
    layout = found.first.layout
    assert layout is not None
    assert layout.devices > 1
    assert found.first.fits
    assert f"{layout.devices} devices, the fewest that hold it" in [fact.words for fact in found.assumed]
    assert starts(shipped, model="qwen3-32b", count=1, precision="bf16").first.layout == layout
    assert starts(shipped, model="qwen3-32b", count=1, precision="bf16").first.fits is False


def test_what_denoises_is_started_by_sglangs_server_of_such_models(shipped: Workspace) -> None:
    asked = {"model": "wan2.2-t2v-a14b", "hardware": "h100-sxm", "count": 4, "software": {"sglang": ""}}
    first = starts(shipped, **asked).first
    assert first.paste_lines == ["sglang serve --model-path Wan-AI/Wan2.2-T2V-A14B-Diffusers --num-gpus 4"]


@pytest.mark.parametrize("hardware", ["ascend-910b3", "h100-sxm"])
def test_an_encoder_that_embeds_is_served_by_the_server_of_language_models(
    shipped: Workspace, hardware: str
) -> None:
    first = starts(shipped, model="bge-m3", hardware=hardware, count=1).first
    assert any(line.startswith("vllm serve BAAI/bge-m3") for line in first.paste_lines)


def test_the_page_of_this_very_case_is_named_with_what_it_sets_otherwise(shipped: Workspace) -> None:
    first = starts(shipped, model="qwen3-32b", count=4).first
    [line] = [text for text in first.because if "official configuration" in text]
    page = re.search(r"com/([^/]+/[^/]+)/blob/([0-9a-f]{7})", line)
    assert page is not None
    assert first.official.startswith(f"Otherwise in the official configuration ({page[1]} at {page[2]}): ")
    assert line.startswith("an official configuration of this case has other settings: ")
    assert "(not here: " in line
    assert not any(
        "official configuration" in text for text in starts(shipped, model="qwen3-32b", count=2).first.because
    )


def test_the_layout_of_the_page_of_this_case_is_told_with_its_price(shipped: Workspace) -> None:
    told = {"model": "qwen3-32b", "count": 4}
    [official] = [text for text in starts(shipped, **told).first.because if "official configuration" in text]
    assert "TP" not in official
    other = starts(shipped, **told, current={"tensor_parallel": 2, "data_parallel": 2}).first
    [official] = [text for text in other.because if "official configuration" in text]
    assert re.search(r"TP 4 \([\d.]+x\)", official)


def test_a_limit_on_the_memory_is_the_memory(shipped: Workspace) -> None:
    assert starts(shipped, limits=["peak_memory<=2GB"]).first.fits is False


def test_parallel_sizes_that_run_now_are_those_of_the_layout(shipped: Workspace) -> None:
    found = starts(shipped, count=4, current={"tensor_parallel_size": 2})
    for start in (found.first, *found.alternatives):
        assert start.layout is not None
        stated = {item.key: item.value for item in start.settings}.get("--tensor-parallel-size", 1)
        assert stated == start.layout.tp
    assert found.first.layout is not None
    assert found.first.layout.tp == 2
    assert any(start.layout and start.layout.tp != 2 for start in found.alternatives)
    with pytest.raises(InputError, match="tensor parallel 64 does not divide the 32 heads of qwen3-8b"):
        starts(shipped, count=2, current={"tensor_parallel_size": 64})
    three = starts(shipped, count=3, current={"tensor_parallel_size": 2})
    assert three.first.layout == ParallelLayout(tp=2)
    assert three.notes == (
        "2 of 3 devices are used: the parallel sizes in use do not divide over all of them",
    )


def test_sizes_in_use_that_leave_too_little_memory_do_not_fit(shipped: Workspace) -> None:
    found = starts(shipped, model="qwen3-32b", count=8, precision="bfloat16", current={"tp": 1, "pp": 1})
    assert (found.first.fits, found.first.because) == (False, (NO_ROOM,))
    assert found.first.layout is not None
    assert found.first.layout.tp > 1


@pytest.mark.parametrize(
    ("current", "layout"),
    [
        ({"tp_size": 4}, ParallelLayout(tp=4, dp=2)),
        (
            {"tp_size": 8, "dp_size": 2, "enable_dp_attention": True},
            ParallelLayout(tp=8, dp=2, dp_attention=True),
        ),
        ({"tp_size": 4, "enable_dp_attention": True}, ParallelLayout(tp=4)),
    ],
)
def test_sizes_of_sglang_are_counted_as_they_run(
    shipped: Workspace, current: dict[str, Any], layout: ParallelLayout
) -> None:
    found = starts(shipped, model="qwen3-30b-a3b", count=8, software={"sglang": "0.5.10"}, current=current)
    assert found.first.layout is not None
    assert replace(found.first.layout, ep=1) in {layout, replace(layout, pp=2)}
    written = {item.key: item.value for item in found.first.settings}
    assert written["--tp-size"] == current["tp_size"]


def test_recipes_of_another_vendor_give_no_settings(shipped: Workspace) -> None:
    alone = {"hardware": "h100-sxm", "count": 4, "software": {"sglang": "0.5.10"}}
    found = starts(shipped, model="qwen3-32b", **alone)
    lent = {canonical_name(item.key) for item in found.first.settings if item.origin is Origin.RECIPE}
    near = [one.recipe for one in found.recipes if not one.is_foreign]
    assert set() < lent <= {canonical_name(item.key) for one in near for item in one.settings}
    assert not any(one.hardware.startswith(("ascend", "atlas")) for one in near)
    assert found.first.layout is not None


def test_an_engine_without_a_release_is_its_newest_and_vllm_on_ascend_is_its_plugin(
    shipped: Workspace,
) -> None:
    named = starts(shipped, software={"sglang": ""}).first
    assert named.framework == "sglang"
    assert named.version
    assert starts(shipped, software={"vllm": ""}).first.framework == "vllm-ascend"


def test_layouts_are_compared_at_one_load(shipped: Workspace) -> None:
    """The requests that recipes let in at once are shared out over the engines of each layout."""
    found = starts(shipped, model="qwen3-235b-a22b", hardware="atlas-800t-a3", count=16)
    at_once = {
        int(str(item.value)) * (start.layout.dp if start.layout else 1)
        for start in (found.first, *found.alternatives)
        for item in start.settings
        if item.key == "--max-num-seqs"
    }
    assert len(at_once) == 1


def test_a_limit_that_the_first_layout_breaks_moves_it_back(shipped: Workspace) -> None:
    usual = starts(shipped, count=8)
    limit = next(item.value for item in usual.first.expected if item.metric == "tpot") * 0.8
    limited = starts(shipped, count=8, limits=[f"tpot<={limit}s"])
    kept = next(item.value for item in limited.first.expected if item.metric == "tpot")
    assert kept <= limit
    [seats] = [item.value for item in limited.first.settings if item.key == "--max-num-seqs"]
    assert limited.price is not None  # the load is found, and what is let in is that load
    assert float(str(seats)) == limited.price.settings["batch"]


def test_a_recipe_for_latency_sets_no_load(shipped: Workspace) -> None:
    """One request on sixteen devices is no load of a question about throughput."""
    found = starts(shipped, model="qwen3-30b-a3b", hardware="ascend-910c", count=16, software={"sglang": ""})
    [at_once] = [item.value for item in found.first.settings if item.key == "--max-running-requests"]
    assert int(str(at_once)) >= 16


def test_the_fastest_layout_that_is_modelled_comes_first(shipped: Workspace) -> None:
    """A mixture of three thousand million active parameters is not split over sixteen devices for throughput."""
    found = starts(shipped, model="qwen3-30b-a3b", hardware="ascend-910c", count=16, software={"sglang": ""})
    layout = found.first.layout
    assert layout is not None
    assert layout.tp // (layout.dp if layout.dp_attention else 1) < 16
    prices = [
        item.value
        for one in (found.first, *found.alternatives)
        for item in one.expected
        if item.metric == "throughput"
    ]
    assert len(prices) == 3
    assert max(prices) == prices[0]


SIZES = {
    "layers": 40, "hidden_size": 4096, "attention_heads": 32, "kv_heads": 8, "intermediate_size": 11008,
    "vocabulary_size": 64000, "max_positions": 8192, "architecture": "decoder", "attention_kind": "full",
}  # fmt: skip


def test_a_model_of_ones_own_is_started_like_others_of_its_architecture(shipped: Workspace) -> None:
    own = situation(shipped, model=None, sizes=SIZES)
    assert (own.framework.id, own.model.is_mixture, own.model.attention) == ("vllm-ascend", False, "full")
    assert own.model.parameters is not None
    assert 7.0e9 < own.model.parameters < 7.4e9  # 40 layers of 176 million, and the vocabulary
    found = starts(shipped, model=None, sizes=SIZES)
    assert {one.recipe.framework for one in found.recipes[:3]} == {"vllm-ascend"}
    lengths = [int(str(item.value)) for item in found.first.settings if item.key == "--max-model-len"]
    assert max(lengths, default=0) <= SIZES["max_positions"]  # type: ignore[operator]  # a number


def test_a_cut_down_model_is_priced_as_it_is_cut(shipped: Workspace) -> None:
    cut = starts(shipped, model="qwen3-8b", sizes=SIZES)
    whole = starts(shipped, model="qwen3-8b", sizes={})
    assert cut.situation.model.family == whole.situation.model.family
    assert cut.question is not None
    assert whole.question is not None
    assert (cut.question.model.layers, whole.question.model.layers) == (40, 36)


@pytest.mark.parametrize("metric", ["tpot", "ttft", "throughput"])
def test_what_is_asked_for_stands_first_in_the_price(shipped: Workspace, metric: str) -> None:
    found = starts(shipped, objective=metric)
    for one in (found.first, *found.alternatives):
        assert [item.metric for item in one.expected][:1] == [metric]


@pytest.mark.parametrize(("load", "is_said"), [(64, False), (20_000, True)])
def test_a_load_above_what_fits_is_said(shipped: Workspace, load: int, is_said: bool) -> None:
    found = starts(shipped, model="qwen3-32b", count=4, traits={"concurrency": load})
    words = [fact.words for fact in found.assumed if fact.name == "traits.running"]
    assert bool(words) == is_said
    assert all(
        text.endswith(f" of {load:,} requests at once, as many as fit: the others wait") for text in words
    )


@pytest.mark.parametrize(
    ("model", "precision", "is_said"),
    [
        ("llama-3.1-70b", "fp8", True),
        ("llama-3.1-70b", "bf16", False),
        ("llama-3.1-70b", None, False),
        ("deepseek-r1", "fp8", False),  # as it is published
    ],
)
def test_weights_narrower_than_published_are_told_of(
    shipped: Workspace, model: str, precision: str | None, is_said: bool
) -> None:
    stated = {"precision": precision} if precision else {}
    first = starts(shipped, model=model, hardware="h200", count=8, **stated).first
    assert any(line.startswith("MODEL in fp8") for line in first.needs) == is_said


def test_what_does_not_fit_may_fit_in_fewer_bits(shipped: Workspace) -> None:
    asked = {"model": "llama-3.1-405b", "hardware": "h100-sxm", "count": 8}
    told = starts(shipped, **asked, precision="bf16").first
    assert told.fits is False
    assert told.fits_in is not None
    assert (told.fits_in[0], told.fits_in[1].devices) == ("fp8", 8)
    found = starts(shipped, **asked)
    assert found.first.fits is not False
    assert [fact.words for fact in found.assumed if fact.name == "precision"] == [
        "weights in fp8: wider ones do not fit"
    ]
    assert any(line.startswith("MODEL in fp8, published: ") for line in found.first.needs)


def test_weights_whose_accuracy_nobody_published_are_no_start(shipped: Workspace) -> None:
    first = starts(shipped, model="qwen3-coder-480b-a35b", hardware="h100-sxm", count=8).first
    assert first.fits is False
    assert first.fits_in is not None


def test_embedding_tables_beyond_all_devices_are_told_and_may_lie_on_the_host(shipped: Workspace) -> None:
    asked = {"model": "dlrm-v3", "phase": "training", "hardware": "a100-sxm4-80gb"}
    few, many = starts(shipped, **asked, count=8), starts(shipped, **asked, count=16)
    told = [note for note in few.notes if note.startswith("the embedding tables take 1,034 GB")]
    assert told[0].endswith("keep rows in the host's memory, or take 13 devices")
    assert not any("embedding tables" in note for note in many.notes)
    assert few.first.fits is not False


def test_a_load_that_does_not_fit_is_let_in_as_far_as_it_does(shipped: Workspace) -> None:
    told = 20_000
    found = starts(shipped, model="qwen3-32b", count=4, traits={"concurrency": told})
    running = next(fact.value for fact in found.assumed if fact.name == "traits.running")
    written = next(item.value for item in found.first.settings if item.key == "--max-num-seqs")
    assert found.first.layout is not None
    assert float(str(written)) * found.first.layout.dp == float(str(running)) < told


def test_what_drafts_in_a_recipe_of_the_model_is_there(shipped: Workspace) -> None:
    found = starts(
        shipped,
        model="qwen3-14b",
        hardware="atlas-800i-a3",
        count=2,
        software={"sglang": ""},
        precision="bf16",
        limits=["tpot<=50ms"],
        shape={"input_len": 3500, "output_len": 1500},
    )
    methods = [item.value for item in found.first.settings if item.key == "--speculative-algorithm"]
    assert methods == ["EAGLE3"]


def test_weights_are_of_four_bits_where_eight_do_not_fit_as_a_recipe_splits(shipped: Workspace) -> None:
    found = starts(
        shipped,
        model="deepseek-r1",
        hardware="atlas-800i-a3",
        count=16,
        software={"sglang": ""},
        shape={"input_len": 2048, "output_len": 2048},
    )
    assert found.question is not None
    assert found.question.settings["precision"] == "w4a8"


def test_a_length_of_another_chip_bounds_nothing_here(shipped: Workspace) -> None:
    found = starts(shipped, model="qwen3-embedding-8b", hardware="ascend-910b3", count=1)
    assert not any(item.key == "--max-model-len" for item in found.first.settings)


def test_how_a_model_that_denoises_is_served_is_not_priced(shipped: Workspace) -> None:
    found = starts(shipped, model="wan2.2-t2v-a14b", hardware="h200", count=8, software={"sglang": ""})
    assert found.price is None
    assert any("denoises in steps" in note for note in found.notes)
    assert [found.checks(metric) for metric in ("ttft", "throughput", "peak_memory")] == [False, False, False]
    priced = starts(shipped)
    checked = [priced.checks(metric) for metric in ("ttft", "throughput", "peak_memory", "accuracy_loss")]
    assert checked == [True, True, True, False]


def test_a_checkpoint_of_four_bits_of_another_model_is_not_for_this_one(shipped: Workspace) -> None:
    alone = {"hardware": "arc-pro-b60", "count": 1, "software": {"vllm": ""}}
    own, other = (starts(shipped, model=model, **alone) for model in ("qwen3-32b", "qwen3-8b"))
    assert "--quantization" in {item.key for item in own.first.settings}
    assert own.question is not None
    assert own.question.settings["precision"] == "w4a16"
    assert "--quantization" not in {item.key for item in other.first.settings}
    assert [one.because for one in other.not_here if one.strategy == "--quantization"] == [
        "a checkpoint of qwen3-32b"
    ]


@pytest.mark.parametrize("card", ["a10g", "l40s", "geforce-rtx-4090"])
@pytest.mark.parametrize("phase", ["training", "serving"])
def test_price_decides_between_layouts_of_cards_that_pcie_alone_joins(
    shipped: Workspace, card: str, phase: str
) -> None:
    """Recipes are for linked servers, where tensors are cheap to split."""
    about = {"model": "llama-3-1-8b", "phase": phase, "hardware": card, "count": 8}
    asked, found = situation(shipped, **about), starts(shipped, **about)
    finder = shipped.snapshot.recommender.planner.starts
    question = finder.priced(asked, found.recipes, shipped.ask.model_facts(asked.problem))
    assert question is not None
    merits = {one.layout: one.log_merit or -math.inf for one in layout_options(question)}
    assert found.first.layout is not None
    assert merits[found.first.layout] > max(merits.values()) - CLEARLY


@pytest.mark.parametrize(
    ("program", "hardware"),
    [("nemo", "h100-sxm"), ("verl-megatron", "h100-sxm"), ("mindspeed-llm-fsdp", "910C"),
     ("mindspeed-mm-fsdp", "910C")],
)  # fmt: skip
def test_programs_with_fields_are_planned_by_recipes_of_their_own(
    shipped: Workspace, program: str, hardware: str
) -> None:
    asked = starts(
        shipped, model="qwen3-32b", phase="training", hardware=hardware, count=64, software={program: ""}
    )
    assert any(one.recipe.authority is not Authority.THIRD_PARTY for one in asked.recipes)
