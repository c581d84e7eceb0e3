"""Findings on sizes of a launch that must divide and do not: heads, experts, layers, devices, samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.nouns.audit import FindingKind, FindingLevel
from kg.terms.dialects import positive, statement
from recommender.audit.finding import NO_START, SettingFinding, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kg.nouns.values import Value
    from recommender.audit.case import AuditCase


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """A size that a program divides evenly, or refuses to start.

    Attributes:
        rule: Id of the finding.
        programs: Programs that refuse, and what is built on them; empty for any.
        whole: Size that is divided.
        parts: Sizes whose product divides it.
        blamed: Fact whose setting is at fault.
        when: Plain name of a setting, or fact, that must be there; empty for none.
        unless: Plain names of settings, or facts, with which another rule holds.
        exact: The product is the whole, not only a part of it.
    """

    rule: str
    programs: frozenset[str] = frozenset()
    whole: str
    parts: tuple[str, ...]
    blamed: str
    when: str = ""
    unless: frozenset[str] = frozenset()
    exact: bool = False


_MEGATRON = frozenset({"megatron-lm"})
_UNEVEN = frozenset(
    {
        "decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers", "noop_layers", "last_stage",
        "pipeline_model_parallel_layout", "account_for_embedding_in_pipeline_split", "num_layer_list",
        "account_for_loss_in_pipeline_split", "hybrid_layer_pattern", "hybrid_override_pattern",
    }
)  # fmt: skip
"""Settings of Megatron-LM and MindSpeed by which stages hold different numbers of layers."""
DIVISIONS = (
    # vllm/config/model.py, verify_with_parallel_config; sglang, model_runner.py; lmdeploy, turbomind
    Division(
        rule="heads", whole="heads", parts=("tp",), blamed="tp",
        unless=frozenset({"dp_attention", "training"}),
    ),
    # verl/workers/rollout starts such a server on the devices of the actor, and asserts the second
    Division(
        rule="heads", programs=frozenset({"verl"}), whole="heads", parts=("rollout_tensor",),
        blamed="rollout_tensor",
    ),
    Division(
        rule="devices", programs=frozenset({"verl"}), whole="devices", parts=("rollout_tensor",),
        blamed="rollout_tensor",
    ),
    # megatron/core/transformer/transformer_config.py, moe/moe_layer.py, parallel_state.py and
    # num_microbatches_calculator.py, which raise or assert each
    Division(rule="heads", programs=_MEGATRON, whole="heads", parts=("tp",), blamed="tp"),
    Division(rule="experts", programs=_MEGATRON, whole="experts", parts=("ep",), blamed="ep"),
    Division(rule="layers", programs=_MEGATRON, whole="layers", parts=("pp",), blamed="pp", unless=_UNEVEN),
    Division(
        rule="layers", programs=_MEGATRON, whole="layers", parts=("pp", "stage_layers"),
        blamed="stage_layers", unless=_UNEVEN,
    ),
    Division(
        rule="layers", programs=_MEGATRON, whole="layers", parts=("pp", "virtual_stages"),
        blamed="virtual_stages", unless=_UNEVEN,
    ),
    Division(
        rule="batch", programs=_MEGATRON, whole="global_batch", parts=("micro_batch", "copies"),
        blamed="global_batch", unless=frozenset({"rampup_batch_size"}),
    ),
    # deepspeed/runtime/config.py, _batch_assertion
    Division(
        rule="batch", when="zero_optimization.stage", whole="global_batch",
        parts=("micro_batch", "turns", "copies"), blamed="global_batch", exact=True,
        unless=frozenset({"sequence_parallel_size", "tensor_parallel.autotp_size"}),
    ),
    # sglang/srt/server_args.py, _handle_data_parallelism
    Division(
        rule="copies", programs=frozenset({"sglang"}), whole="tp", parts=("dp",), blamed="dp",
        when="dp_attention",
    ),
    # tensorrt_llm/mapping.py: tp_size is moe_tp_size * moe_ep_size
    Division(rule="ranks", programs=frozenset({"tensorrt-llm"}), whole="tp", parts=("ep",), blamed="ep"),
)  # fmt: skip
_SAYS = {
    "heads": ("the model's {whole} attention heads do not divide over {parts} devices",
              "模型的 {whole} 个注意力头无法平分到 {parts} 张卡"),
    "experts": ("the model's {whole} experts do not divide over {parts} devices",
                "模型的 {whole} 个专家无法平分到 {parts} 张卡"),
    "layers": ("the model's {whole} layers do not divide into {parts}",
               "模型的 {whole} 层无法按 {parts} 平分"),
    "devices": ("{whole} devices do not divide into groups of {parts}",
                "{whole} 张卡无法按 {parts} 张一组平分"),
    "copies": ("{whole} devices of attention do not divide over {parts} copies",
               "{whole} 张注意力卡无法平分给 {parts} 个副本"),
    "ranks": ("the {whole} devices that share each layer do not divide by {parts} shares of the experts",
              "切分每层的 {whole} 张卡无法按 {parts} 份专家平分"),
    "batch": ("{whole} samples are no whole micro-batches of {micro_batch} on {copies} copies of the model",
              "{whole} 个样本无法在 {copies} 个模型副本上分成大小为 {micro_batch} 的微批"),
    "batch=": ("{whole} samples are not {parts}: micro-batch, accumulation and {copies} copies multiplied",
               "{whole} 个样本不等于 {parts}：微批、累积步数与 {copies} 个副本之积"),
}  # fmt: skip
_WRITTEN = {"layers": "num_layers", "experts": "num_experts", "heads": "num_attention_heads"}
"""Sizes of a model as a launch that builds it states them, which count before those of a card."""


def division_findings(case: AuditCase) -> Iterator[SettingFinding]:
    """Find sizes of a launch that its program divides evenly, and that do not divide; one a setting."""
    values = {item.key: item.value for item in case.settings if item.is_known}
    read = statement(values, case.program)
    names = {name for forms in case.forms.values() for name in forms}
    names |= read.program_facts.keys() | {str(case.facts.get("phase") or "")}
    sizes = _sizes(case, read.program_facts)
    blamed: set[str] = set()
    for one in DIVISIONS:
        is_of = one.programs & case.programs.keys() if one.programs else True
        if not is_of or (one.when and one.when not in names) or one.unless & names or one.blamed in blamed:
            continue
        whole, parts = sizes.get(one.whole), [sizes.get(name) for name in one.parts]
        if not whole or not all(parts):
            continue
        product = math.prod(part for part in parts if part)
        if whole == product if one.exact else whole % product == 0:
            continue
        setting = next((item for item in case.settings if read.fact_of.get(item.key) == one.blamed), None)
        if setting is None:
            continue
        blamed.add(one.blamed)
        words = {**sizes, "whole": whole, "parts": " x ".join(map(str, parts))}
        says = _SAYS[one.rule + "=" * one.exact]
        yield SettingFinding(
            rule=f"{one.rule}-not-divisible",
            kind=FindingKind.REFUSED,
            level=FindingLevel.ERROR,
            setting=setting,
            says={language: text.format(**words) for language, text in zip(("en", "zh"), says, strict=True)},
            cost=dict(zip(("en", "zh"), NO_START, strict=True)),
            remedy=written(setting.key, _nearest(one, whole, product, sizes)),
        )


def _sizes(case: AuditCase, stated: Mapping[str, Value]) -> dict[str, int]:
    """Whole numbers of the launch and of its model by fact, and the copies of the model that it trains."""
    told: dict[str, Value] = {
        name: value for name, value in case.facts.items() if not isinstance(value, frozenset)
    }
    found = {name: positive(value) for name, value in (*told.items(), *stated.items())}
    by_name = {name: value for forms in case.forms.values() for name, value in forms.items()}
    for fact, name in _WRITTEN.items():
        found[fact] = positive(by_name.get(name)) or found.get(fact)
    sizes = {name: size for name, size in found.items() if size}
    copies, rest = divmod(
        sizes.get("devices", 0), math.prod(sizes.get(name, 1) for name in ("tp", "pp", "cp"))
    )
    return sizes if rest else {**sizes, "copies": copies}


def _nearest(one: Division, whole: int, product: int, sizes: Mapping[str, int]) -> int:
    """The nearest size that divides: fewer parts of a whole that is given, more samples of given parts."""
    if one.blamed == one.whole:
        return product if one.exact else -(-whole // product) * product
    size = sizes[one.blamed]
    beside = product // size
    return next(less for less in range(size, 0, -1) if whole % (beside * less) == 0 or less == 1)
