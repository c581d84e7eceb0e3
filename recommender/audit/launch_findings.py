"""Findings on a launch by its own numbers: devices, loads, lengths and formats that do not go together."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ingest.questions.launches.running import RunningSetting
from ingest.questions.launches.serving import ADDRESSES
from ingest.questions.launches.variables import visible_devices
from kg.nouns.audit import FindingKind, FindingLevel
from kg.nouns.look_up import Standing
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from kg.terms.dialects import Statement, layout_of, positive, statement
from kg.terms.meanings import OF_VLLM, size_of
from kg.terms.model_name import read_name
from kg.terms.purposes import QUANTISATION, plain_key
from kg.terms.setting_registry import registry
from recommender.audit.case import AuditCase
from recommender.audit.finding import NO_START, SettingFinding, written
from recommender.audit.relation_findings import relation_findings
from recommender.cost_model.facts.device import NOT_WIDENING
from recommender.ranking.feasibility.server_fit import STRETCHES
from recommender.ranking.starts.lengths import yarn

FEW_REQUESTS = "few-requests"
"""Rule of a launch that admits a few requests and is not told that only these come."""
A_FEW = 5
"""Requests at once below which the reading of the weights is hardly shared: a decode step takes about as long
for one as for dozens (vLLM, "Optimization and tuning")."""
_MEANT = 0.5
"""Share of the load from which a limit only queues the rest, which may be meant: a note."""
_CHECKED_LENGTHS = OF_VLLM | {"sglang"}
"""Engines that compare the longest sequence with the positions of the model's configuration, and refuse."""
_PACKED = ("awq", "gptq")
"""Beginnings of formats that an engine loads and does not make."""
_SPREAD = {
    *ADDRESSES,
    "data_parallel_rank",
    "data_parallel_external_lb",
    "data_parallel_hybrid_lb",
    "headless",
}
"""Settings of servers that spread one launch over several commands or machines."""


def launch_findings(case: AuditCase) -> Iterator[SettingFinding]:
    """Find settings of a launch that conflict with each other, or fall short of the load in the question."""
    values = {item.key: item.value for item in case.settings if item.is_known}
    read = statement(values, case.program)
    is_training = case.facts.get("phase") == "training"
    if not is_training:
        yield from _limits(case, read)
        yield from _devices(case, values)
    yield from relation_findings(case)
    yield from _below(case)
    if not is_training:
        yield from _of_the_model(case, read)


def _devices(case: AuditCase, values: Mapping[str, Value]) -> Iterator[SettingFinding]:
    """Find a server that divides over more devices than its variables show it, or over fewer."""
    names = {name: value for forms in case.forms.values() for name, value in forms.items()}
    if _SPREAD & names.keys() or "ray" in names.values():
        return
    needed = layout_of(values, case.program).devices
    for setting in case.settings:
        shown = visible_devices({setting.key: setting.value}) if setting.place is SettingPlace.ENV else None
        if shown is not None and needed > shown:
            yield _finding(
                setting,
                "fewer-devices-than-layout",
                (
                    f"it shows {shown} devices, and the launch divides over {needed}",
                    f"它只暴露 {shown} 张卡，而启动按 {needed} 张卡切分",
                ),
                ("the engine does not start", "引擎无法启动"),
                remedy=f"{setting.key}: {needed} devices",
            )
        elif shown is not None and needed < shown and case.program != "llama.cpp":
            yield _finding(
                setting,
                "idle-devices",
                (
                    f"it shows {shown} devices, and the launch uses {needed}",
                    f"它暴露 {shown} 张卡，而启动只用 {needed} 张",
                ),
                ("the others idle", "其余设备闲置"),
                ("where another program uses them", "另有程序使用它们时"),
                kind=FindingKind.LIMIT,
                level=FindingLevel.WARNING,
                remedy=f"{setting.key}: {needed} device{'s' if needed > 1 else ''}",
            )  # fmt: skip


def _below(case: AuditCase) -> Iterator[SettingFinding]:
    """Find a size in DeepSpeed's file that differs from the arguments of the trainer above it.

    Source:
        transformers, integrations/deepspeed.py, ``HfTrainerDeepSpeedConfig.fill_match``, which refuses it.
    """
    below = registry("deepspeed").at()
    sizes = {
        size: item
        for item in case.settings
        if item.is_known and not item.file and (size := size_of(item.key, case.program))
    }
    for setting in case.settings:
        told = sizes.get(size_of(setting.key, case.program) or "")
        is_below = setting.file and below.look_up(setting.key, suggest=False).setting is not None
        if told is None or not is_below or setting.value in {told.value, "auto"}:
            continue
        yield _finding(
            setting,
            "deepspeed-mismatch",
            (f"{told.key} is {told.value}", f"{told.key} 为 {told.value}"),
            ("the trainer does not start", "训练器无法启动"),
            remedy=written(setting.key, "auto"),
        )


def _limits(case: AuditCase, read: Statement) -> Iterator[SettingFinding]:
    """Limits of the launch below the load that is told."""
    load, copies = _number(case, "concurrency"), positive(read.facts.get("dp")) or 1
    asked = (_number(case, "input_len") or 0) + (_number(case, "output_len") or 0)
    for setting in case.settings:
        fact = read.fact_of.get(setting.key)
        limit = positive(read.facts.get(fact)) if fact else None
        if limit is None:
            continue
        is_prefill = case.facts.get("role") == "prefill"  # whose requests leave after one pass
        if fact == "batch" and load is not None and limit * copies < load and not is_prefill:
            yield _finding(
                setting,
                "limit-below-load",
                (
                    f"at most {limit * copies:,} of {load:,.0f} requests run at once",
                    f"{load:,.0f} 个请求中最多 {limit * copies:,} 个同时运行",
                ),
                ("the others wait in the queue", "其余请求在队列中等待"),
                kind=FindingKind.LIMIT,
                level=FindingLevel.WARNING if limit * copies < _MEANT * load else FindingLevel.NOTE,
                remedy=written(setting.key, -(-int(load) // copies)),
                told="concurrency",
            )
        elif (
            fact == "batch"
            and limit * copies < A_FEW
            and load is None
            and not is_prefill
            and _takes_more(case, setting, limit)
        ):
            yield _finding(
                setting,
                FEW_REQUESTS,
                (
                    f"requests that run at once: at most {limit * copies}",
                    f"同时运行的请求不超过 {limit * copies} 个",
                ),
                (
                    "decode reads all weights for these alone: throughput is a fraction",
                    "解码为寥寥几个请求读取全部权重，吞吐只有零头",
                ),
                (
                    f"for as many users (--trait concurrency={limit})",
                    f"用户即如此之少时（--trait concurrency={limit}）",
                ),
                kind=FindingKind.LIMIT,
                level=FindingLevel.WARNING,
            )
        if fact == "max_len" and asked > limit:
            yield _finding(
                setting,
                "length-below-request",
                (
                    f"requests of {asked:,.0f} tokens are longer than the {limit:,} allowed",
                    f"请求长度 {asked:,.0f} 超过上限 {limit:,}",
                ),
                ("they are refused or cut", "请求被拒绝或截断"),
                kind=FindingKind.LIMIT,
                remedy=written(setting.key, int(asked)),
                told="length",
            )


def _takes_more(case: AuditCase, setting: RunningSetting, limit: int) -> bool:
    """True if the release takes more requests without a setting, as far as its default is a number."""
    answer = case.look_up(setting)
    default = None if answer.setting is None else answer.setting.default_in(answer.release)
    usual = None if default is None else default.value
    return not isinstance(usual, int) or usual > limit


def _of_the_model(case: AuditCase, read: Statement) -> Iterator[SettingFinding]:
    """Settings of a server that are at odds with its model."""
    lacks_fp4 = case.facts.get("has_fp4") is False
    if case.program in NOT_WIDENING and lacks_fp4 and read_name(case.checkpoint).weights == "nvfp4":
        yield replace(
            _finding(
                RunningSetting(key="--model", value=case.checkpoint, place=SettingPlace.FLAG),
                "weights-not-computed",
                (
                    "the weights are in NVFP4, which this device lacks and this engine does not widen",
                    "权重为 NVFP4，该设备不支持，且该引擎不做还原",
                ),
                NO_START,
            ),
            adds=True,
        )
    for setting in case.settings:
        fact = read.fact_of.get(setting.key)
        size = positive(read.facts.get(fact)) if fact else None
        if fact == "max_len" and size:
            yield from _length(case, setting, size)
        elif plain_key(setting.key) == QUANTISATION and setting.value.lower().startswith(_PACKED):
            yield from _format(case, setting)


def _length(case: AuditCase, setting: RunningSetting, tokens: int) -> Iterator[SettingFinding]:
    running = (item for item in case.settings if case.look_up(item).standing is not Standing.REMOVED)
    names = {plain_key(item.key) for item in running}
    is_stretched = any(part in name for name in names for part in STRETCHES)
    if case.program not in _CHECKED_LENGTHS or not case.positions or tokens <= case.positions or is_stretched:
        return
    stretch = "" if case.rotary is None else yarn(case.program, case.release, tokens, *case.rotary)
    shorter = written(setting.key, case.positions)
    yield _finding(
        setting,
        "length-beyond-model",
        (
            f"the model takes {case.positions:,} tokens, and nothing stretches its positions",
            f"模型只支持 {case.positions:,} 个位置，且未设置位置扩展",
        ),
        NO_START,
        ("where the checkpoint's own configuration stretches them", "权重自带的配置已扩展位置时"),
        remedy=stretch or shorter,
        others=(shorter,) if stretch else (),
        level=FindingLevel.WARNING,
    )


def _format(case: AuditCase, setting: RunningSetting) -> Iterator[SettingFinding]:
    """A format of packed weights, of a checkpoint on the hub whose name has none."""
    name = case.checkpoint
    if name.count("/") != 1 or name.startswith(("/", ".", "~")) or read_name(name).weights:
        return
    yield _finding(
        setting,
        "weights-not-packed",
        (
            f"the engine loads {setting.value} weights and makes none, and {name} names none",
            f"引擎只加载而不生成 {setting.value} 权重，而 {name} 的名称中没有该格式",
        ),
        NO_START,
        ("where the checkpoint is packed so all the same", "该权重确为此格式时"),
        level=FindingLevel.WARNING,
    )


def _finding(
    setting: RunningSetting,
    rule: str,
    says: tuple[str, str],
    cost: tuple[str, str],
    right: tuple[str, str] | None = None,
    *,
    kind: FindingKind = FindingKind.REFUSED,
    level: FindingLevel = FindingLevel.ERROR,
    remedy: str = "",
    others: tuple[str, ...] = (),
    told: str = "",
) -> SettingFinding:
    """A finding, its words in English and Chinese."""
    words = [dict(zip(("en", "zh"), pair, strict=True)) if pair else {} for pair in (says, cost, right)]
    return SettingFinding(
        rule=rule, kind=kind, level=level, setting=setting, says=words[0], cost=words[1], right=words[2],
        remedy=remedy, others=others, load_fact=told,
    )  # fmt: skip


def _number(case: AuditCase, fact: str) -> float | None:
    value = case.facts.get(fact)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
