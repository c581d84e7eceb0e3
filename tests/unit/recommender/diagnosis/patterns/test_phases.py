"""Steps of a server that read prompts among steps that decode."""

from collections.abc import Sequence
from typing import Any

import pytest

from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.run import Rank
from recommender.diagnosis.patterns import phases
from recommender.diagnosis.rank.view import KernelView, view_of

DECODES = ("flash_fwd_splitkv_kernel", 50.0)
READS = ("flash_fwd_kernel", 900.0)


def serve(steps: Sequence[Sequence[tuple[str, float]]], *more: str) -> KernelView:
    """A rank whose steps run some attention, each followed by a product of the same length."""
    builder = KernelBuilder("trace.json")
    at, row = 0, 1
    for number, step in enumerate(steps):
        for name, lasted in step:
            for kind, word in (("FlashAttention", name), ("Gemm", "gemm"), *((kind, kind) for kind in more)):
                row += 1
                builder.add(
                    row, at, duration_us=lasted, name=word, kind=kind, core="", state="", stream="7",
                    step=str(number),
                )  # fmt: skip
                at += round(lasted * 1e3)
    view = view_of(Rank(rank=0, folder="", layout="Kineto trace", kernels=builder.build()))
    assert isinstance(view, KernelView)
    return view


def test_a_few_steps_with_prompts_cost_what_they_compute_beyond_the_others(thresholds: Any) -> None:
    view = serve([[DECODES]] * 9 + [[DECODES, READS]] + [[DECODES]] * 5)
    [found] = phases.find(view, thresholds)
    assert found.node == "prefill-decode-interference"
    assert found.lost_us == pytest.approx(2 * READS[1])
    assert found.share == pytest.approx(1800 / (15 * 100 + 1800))


@pytest.mark.parametrize(
    ("steps", "more"),
    [
        ([[DECODES]] * 9 + [[(DECODES[0], 900.0)]], ()),  # a longer batch of the same work
        ([[DECODES, READS], [DECODES]] * 6, ()),  # half of the steps: these are the job
        ([[DECODES]] * 3 + [[DECODES, READS]], ()),  # too few to say what is usual
        ([[DECODES]] * 9 + [[DECODES, READS]], ("LayerNormGrad",)),  # a training with a validation
    ],
)
def test_other_long_steps_are_no_prompts(
    thresholds: Any, steps: Sequence[Sequence[tuple[str, float]]], more: tuple[str, ...]
) -> None:
    assert list(phases.find(serve(steps, *more), thresholds)) == []


@pytest.mark.parametrize(("kind", "is_named"), [("Sort", True), ("Reduce", False)])
def test_tokens_chosen_by_sorting_all_are_a_slow_sampler(thresholds: Any, kind: str, is_named: bool) -> None:
    view = serve([[DECODES]] * 6, kind)
    found = [item for item in phases.find(view, thresholds) if item.node == "sampler-high-latency"]
    assert [item.lost_us for item in found] == ([6 * DECODES[1]] if is_named else [])
    assert not list(phases.find(serve([[DECODES]] * 6, kind, "LayerNormGrad"), thresholds))
