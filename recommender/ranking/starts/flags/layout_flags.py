"""A layout in the words of each framework."""

from collections.abc import Mapping
from dataclasses import replace

from kg.nouns.layout import ParallelLayout
from kg.nouns.values import Value
from kg.terms.dialects import DEGREES, spell
from kg.terms.meanings import OF_VLLM, programs, settings_of, stated_anyway
from recommender.cost_model.layout_domain import SHARING, WHOLE
from recommender.ranking.plan_setting import Origin, PlanSetting, settings_by_key

FIELDED = frozenset({"megatron-bridge", "mindspeed-rl", "nemo", "nemo-2", "verl-megatron"})
"""Programs with Megatron's blocks beneath that have fields of their own in place of its flags."""
MEGATRON = frozenset({"megatron-lm", "mindspeed", "mindspeed-llm", "mindspeed-mm"}) | FIELDED
SPLITTING = (
    OF_VLLM | MEGATRON | {"sglang", "mindie", "mindformers", "tensorrt-llm", "lmdeploy", "tgi", "llama.cpp"}
)
"""Frameworks that split one model over devices; others replicate it."""


def layout_settings(
    layout: ParallelLayout,
    framework: str,
    *,
    experts: bool,
    layers: float | None = None,
    release: str = "",
    origin: Origin = Origin.COST_MODEL,
    source: str = "",
) -> list[PlanSetting]:
    """The settings that make a framework use a layout; none where its launcher is told the devices alone.

    Args:
        layout: What.
        framework: Id of the framework.
        experts: Whether the model has experts.
        layers: Its blocks; None if unknown.
        release: Which the settings must be in; empty if that is not known.
        origin: What the layout comes from.
        source: Where that can be read.
    """
    anyway = stated_anyway(framework, experts=experts) if framework in programs() else ()
    if framework not in SPLITTING and not anyway:
        return []
    sizes = {name: getattr(layout, name) for name in DEGREES}
    sizes |= {"world": layout.devices, "etp": layout.devices // layout.ep, "dp_attention": "dp"}
    if framework in WHOLE:
        sizes["dp_attention"] = "tp"
    made = []
    for fact in dict.fromkeys(item.fact for item in settings_of(framework)):
        is_implied = fact == "tp" and "world" in anyway and layout.dp == 1
        is_split = fact in DEGREES and sizes[fact] > 1 and (experts or fact != "ep") and not is_implied
        if fact in anyway or is_split or (fact == "dp_attention" and layout.dp_attention):
            made += spelt_settings({fact: sizes[fact]}, framework, release, origin, source)
    each = -(-int(layers or 0) // layout.pp)
    idle = each * layout.pp - int(layers or 0)
    if not idle or framework not in MEGATRON:
        return made
    if framework.startswith("mindspeed"):  # blocks that do nothing (MindSpeed, docs/features/noop-layers.md)
        names = ",".join(str(int(layers or 0) + place) for place in range(idle))
        idlers: dict[str, Value] = {"--num-layers": each * layout.pp, "--noop-layers": names}
        return made + settings_by_key(idlers, origin, source)
    return made + (
        spelt_settings({"last_stage": each - idle}, framework, release, origin, source) if each > idle else []
    )


def of_one_server(layout: ParallelLayout, framework: str) -> tuple[ParallelLayout, int]:
    """The layout of one of the servers that a layout of a service is launched as, and their number.

    A program without a size for replicas has a server for each. The replicas of one server of vLLM share its
    experts (``--enable-expert-parallel``): those that share none are servers of their own.
    """
    if layout.dp_attention:
        return layout, 1
    facts = {item.fact for item in settings_of(framework)} if framework in programs() else {"dp"}
    if "dp" not in facts:
        return replace(layout, dp=1), layout.dp
    groups, rest = divmod(layout.tp * layout.dp * layout.cp, layout.ep)
    inside = layout.ep // (layout.tp * layout.cp)
    if framework not in SHARING or layout.ep == 1 or rest or not inside or layout.dp % inside:
        return layout, 1
    return replace(layout, dp=inside), groups


def spelt_settings(
    facts: Mapping[str, Value],
    framework: str,
    release: str = "",
    origin: Origin = Origin.COST_MODEL,
    source: str = "",
    *,
    copies: int = 1,
) -> list[PlanSetting]:
    """The settings by which a framework is told facts, with what it needs beside them; others are left out.

    Args:
        facts: Values by fact.
        framework: Id of the framework.
        release: Which takes them; empty if that is not known.
        origin: What they come from.
        source: Where that can be read.
        copies: Replicas, over which some frameworks count.
    """
    found = [spell(fact, framework, release, value, copies=copies) for fact, value in facts.items()]
    return [
        item
        for one, value in filter(None, found)
        for item in settings_by_key({one.key: value, **one.beside}, origin, source, one.place, one.file)
    ]
