"""Findings on memory: what does not start, a server that cuts requests or leaves too little beside."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from ingest.questions.launches.running import RunningSetting
from kg.errors import InputError, MissingFactError
from kg.nouns.audit import FindingKind, FindingLevel
from kg.nouns.setting import SettingPlace, read_value
from kg.nouns.values import Value, show
from kg.terms.dialects import positive, statement
from kg.terms.meanings import meaning_of
from kg.terms.purposes import plain_key
from recommender.audit.case import AuditCase
from recommender.audit.finding import LIKELY, NO_START, SettingFinding, written
from recommender.cost_model.question import Question
from recommender.cost_model.settings.plans import canonical_name
from recommender.cost_model.workloads.memory_fit import USABLE_MEMORY, memory_bytes
from recommender.ranking.feasibility.server_fit import (
    ServerFit,
    room_of_cache,
    server_fit,
    share_too_high,
    told_cache,
    written_change,
)
from recommender.ranking.feasibility.training_fit import (
    activations_beyond,
    activations_bytes,
    micro_batches,
    states_bytes,
    weights_bytes,
)
from recommender.ranking.plan_setting import Origin
from recommender.ranking.start import StartConfiguration

NO_ROOM = "no-room-to-start"
_DIVIDED_BY_LAUNCH = frozenset({"transformers"})
"""Trainers that copy the model onto every device unless the launch says otherwise; what of it their user's
own code trains, it does not say."""
_ON_HOST = plain_key("--cpu-offload-gb")
_FILES = (".json", ".yaml", ".yml", ".toml")
_REFUSED = ("longer requests are refused", "更长的请求被拒绝")
_SHARED = {"en": "where another program shares the device", "zh": "与其他程序共用设备时"}
SMALL_CACHE = 0.75
"""Share of what is free for a cache below which the one that is told is found small; a choice."""
_STEP_OVERFLOWS = ("by the memory model the step runs out of memory", "按显存模型，训练步会显存不足")
_OVERFLOWS = ("prefill or the capture of graphs runs out of memory", "预填充或图捕获时显存不足")


def room_findings(case: AuditCase, question: Question | None) -> Iterator[SettingFinding]:
    """Find settings of a launch that need more memory than there is.

    Args:
        case: The launch.
        question: What runs, as the cost model is asked about it; None where it cannot be.
    """
    unknown = [item for item in case.settings if not item.is_known]
    if question is None or any(meaning_of(item.key, case.program) for item in unknown):
        return
    if question.phase == "training":
        yield from _of_rollout(case, question)
    if unknown:
        return
    if question.phase == "training":
        yield from _of_states(case, question)
        yield from _of_activations(case, question)
    if question.phase != "serving":
        return
    current = {item.key: read_value(item.value, "float") or item.value for item in case.settings}
    read = statement(current, case.program)
    by_fact = {fact: key for key, fact in read.fact_of.items()}
    if "world" in by_fact:
        by_fact.setdefault("tp", by_fact["world"])
    asked = sum(float(str(case.facts.get(name) or 0)) for name in ("input_len", "output_len"))
    fit = server_fit(question, current, case.program, tokens=asked, most=case.positions)
    if fit is not None:
        yield _of_fit(case, fit, by_fact)
    yield from _of_weights_on_host(case, question, by_fact)
    yield from _of_small_cache(case, question, read.facts, by_fact)
    share, key = read.facts.get("memory_share"), by_fact.get("memory_share", "")
    held = question.machine.device.memory_capacity
    if isinstance(share, int | float) and math.isfinite(held) and (fit is None or fit.starts):
        tp = positive(read.program_facts.get("tp")) or 1
        usual = share_too_high(case.program, share, held, tp, positive(read.facts.get("chunk")))
        if usual is not None:
            left = (1 - share) * held / 1e9
            yield _finding(
                case, key, "share-leaves-too-little",
                (
                    f"{left:,.1f} GB are left for activations and graphs, beside weights and cache",
                    f"除权重与缓存外，激活与图只剩 {left:,.1f} GB",
                ),
                _OVERFLOWS, FindingKind.LIMIT, FindingLevel.WARNING,
                [_written(case, by_fact, {"memory_share": usual})],
                source="https://docs.sglang.ai/advanced_features/hyperparameter_tuning.html",
            )  # fmt: skip


def _of_small_cache(
    case: AuditCase, question: Question, stated: Mapping[str, Value], by_fact: Mapping[str, str]
) -> Iterator[SettingFinding]:
    """The finding that the bytes which are told for the cache are well below what is free for it."""
    told = told_cache(stated)
    free = 0.0 if told is None else room_of_cache(question, stated, case.program)
    if told is None or told >= SMALL_CACHE * free:
        return
    key = by_fact.get("cache_bytes") or by_fact["cache_gb"]
    takes, left = f"{told / 1e9:,.1f}", f"{free / 1e9:,.1f}"
    found = _finding(
        case, key, "cache-below-room",
        (
            f"the cache takes {takes} GB of a device, and beside the weights {left} GB are free for it",
            f"单卡缓存只占 {takes} GB，而除权重外有 {left} GB 可用",
        ),
        ("room for fewer requests; they are preempted or wait", "可容纳的请求变少，请求被抢占或等待"),
        FindingKind.LIMIT, FindingLevel.WARNING, [],
    )  # fmt: skip
    yield replace(found, adds=False, right=_SHARED)


def _of_weights_on_host(
    case: AuditCase, question: Question, by_fact: Mapping[str, str]
) -> Iterator[SettingFinding]:
    """The finding that weights which do not fit cross the host link in each step, with the time of that.

    Source:
        vllm, config/cache.py, ``cpu_offload_gb``: GiB of a device's weights, read in each forward pass.
    """
    key, told = next(
        ((one.key, one.value) for one in case.settings if plain_key(one.key) == _ON_HOST), ("", "")
    )
    gib, device = read_value(told, "float"), question.machine.device
    if not isinstance(gib, int | float) or gib <= 0:
        return
    try:
        parts = memory_bytes(question.model, "serving", [question.settings], question.machine.count)
        rate = device.number("measured_host_link_bandwidth_bytes_per_s", "pcie_bandwidth_bytes_per_s")
    except (InputError, MissingFactError):
        return
    weights = float(parts["weights"][0])
    if weights < USABLE_MEMORY * device.memory_capacity:
        return  # what fits needs no room: a rule of its own
    moved = min(gib * 2**30, weights)
    more = 2 ** math.ceil(math.log2(weights / (USABLE_MEMORY * device.memory_capacity)))
    tp = int(float(str(question.settings.get("tensor_parallel") or 1))) * more
    size, least = f"{moved / 1e9:,.1f} GB", f"{moved / rate * 1e3:,.0f} ms"
    yield _finding(
        case, key, "weights-over-host-link",
        (
            f"{size} of the weights cross the host link in each step: {least} at least",
            f"每步有 {size} 权重经主机链路传输：至少需 {least}",
        ),
        ("as long for a token of one request as of all", "单个请求的一个 token 与全部请求耗时相同"),
        FindingKind.OFFLOAD, FindingLevel.WARNING, [_written(case, by_fact, {"tp": tp})],
        source="https://docs.vllm.ai/en/stable/configuration/conserving_memory/",
    )  # fmt: skip


def _of_states(case: AuditCase, question: Question) -> Iterator[SettingFinding]:
    """The finding that what training keeps between steps is more than a device holds, whatever the batch.

    Asked of programs whose launch says how the work is divided; others divide it in files or by default.
    """
    held, kept = question.machine.device.memory_capacity, states_bytes(question, {})
    is_stated = case.program in _DIVIDED_BY_LAUNCH and "devices" in case.facts and not _has_unread(case)
    if not is_stated or kept is None or kept <= held:
        return
    says = [
        f"if all weights are trained, they and their states take {kept / 1e9:,.1f} GB of {held / 1e9:,.1f}",
        f"若训练全部权重，权重、梯度与优化器状态单卡需 {kept / 1e9:,.1f} GB，而单卡只有 {held / 1e9:,.1f} GB",
    ]
    spread = states_bytes(question, {"zero_stage": 3})
    if spread is not None and spread < held:
        says[0] += f"; spread over all devices (ZeRO 3, FSDP) {spread / 1e9:,.1f}"
        says[1] += f"；全部切分（ZeRO 3、FSDP）后为 {spread / 1e9:,.1f} GB"
    yield _finding(
        case, "", NO_ROOM, (says[0], says[1]), LIKELY, FindingKind.REFUSED, FindingLevel.WARNING, []
    )


def _of_activations(case: AuditCase, question: Question) -> Iterator[SettingFinding]:
    """The finding that the activations of a micro-batch are more than a device holds, whatever is divided.

    Asked where the launch says the length of its sequences; by more than the model of memory ever erred.
    """
    held, kept = question.machine.device.memory_capacity, activations_bytes(question, {})
    weights = weights_bytes(question)
    current = {item.key: read_value(item.value, "float") or item.value for item in case.settings}
    read = statement(current, case.program)
    by_fact = {fact: key for key, fact in read.fact_of.items()}
    said = next((fact for fact in ("seq_len", "max_len", "input_len") if fact in by_fact), "")
    if not said or kept is None or not activations_beyond(question):
        return
    length = int(float(str(question.settings["seq_len"])))
    needs = f"the activations of a micro-batch take {kept / 1e9:,.1f} GB"
    sizes = f"{weights / 1e9:,.1f} GB", f"{held / 1e9:,.1f}"
    says = [
        f"with sequences of {length:,} tokens {needs}, the weights {sizes[0]}, and a device holds {sizes[1]}",
        f"序列长 {length:,} 时，一个微批激活需 {kept / 1e9:,.1f} GB，权重 {sizes[0]}，单卡 {sizes[1]} GB",
    ]
    yield _finding(
        case, next((by_fact[fact] for fact in ("micro_batch", said) if fact in by_fact), ""),
        NO_ROOM, (says[0], says[1]), _STEP_OVERFLOWS, FindingKind.REFUSED, FindingLevel.WARNING,
        [_written(case, by_fact, change) for change in _less_activations(question, held - weights, said)],
    )  # fmt: skip


def as_started(findings: Sequence[SettingFinding], start: StartConfiguration) -> tuple[SettingFinding, ...]:
    """The findings, with the change by which a start that fits makes room where it keeps the setting."""
    kept = {plain_key(item.key): show(item.value) for item in start.settings}
    room = " ".join(
        item.key if item.value is True else written(item.key, item.value)
        for item in start.settings
        if item.origin is not Origin.CURRENT and canonical_name(item.key) == "recompute"
    )
    return tuple(
        replace(item, remedy=room, adds=True)
        if room and start.fits and item.rule == NO_ROOM
        and kept.get(plain_key(item.setting.key)) == item.setting.value
        else item
        for item in findings
    )  # fmt: skip


def _less_activations(question: Question, held: float, length: str) -> Iterator[Mapping[str, Value]]:
    """The change with which the activations have room, the cheapest first; at most one.

    Args:
        question: What runs.
        held: Bytes of a device beside the weights.
        length: The fact by which the launch says the length of a sequence.
    """
    sizes: list[dict[str, Value]] = [{"micro_batch": size} for size in micro_batches(question)]
    least: dict[str, Value] = {**(sizes[-1] if sizes else {})}
    whole: dict[str, Value] = {**least, "recompute": "full"}
    changes: list[dict[str, Value]] = [*sizes, {"recompute": "full"}, whole]
    tokens = int(float(str(question.settings["seq_len"])))
    if length != "input_len":  # of which a sequence is more than the prompt
        changes += [{**each, length: tokens >> half} for half in range(1, 6) for each in (least, whole)]
    for change in changes:
        asked = {("seq_len" if name == length else name): value for name, value in change.items()}
        kept = activations_bytes(question, asked)
        if kept is not None and kept < held:
            yield change
            return


def _of_rollout(case: AuditCase, question: Question) -> Iterator[SettingFinding]:
    """The finding that a server of answers does not fit beside what training keeps on a device."""
    read = statement(
        {item.key: read_value(item.value, "float") or item.value for item in case.settings}, case.program
    )
    share, kept = read.facts.get("memory_share"), states_bytes(question, {})
    held = question.machine.device.memory_capacity
    if (
        not isinstance(share, int | float)
        or not 0 < share <= 1
        or kept is None
        or share * held + kept <= held
        or (most := math.floor(10 * (1 - kept / held)) / 10) <= 0  # sharded by what the launch does not say
    ):
        return
    key = next(name for name, fact in read.fact_of.items() if fact == "memory_share")
    yield _finding(
        case, key, "share-beside-training",
        (
            f"weights, gradients and states of the training keep {kept / 1e9:,.1f} of {held / 1e9:,.1f} GB",
            f"训练的权重、梯度与优化器状态常驻 {kept / 1e9:,.1f} GB，单卡共 {held / 1e9:,.1f} GB",
        ),
        ("by the memory model making answers runs out of memory", "按显存模型，生成回答时会显存不足"),
        FindingKind.REFUSED, FindingLevel.WARNING, [written(key, most)],
        source="https://verl.readthedocs.io/en/latest/perf/perf_tuning.html",
    )  # fmt: skip


def _has_unread(case: AuditCase) -> bool:
    """True if a launch names a file of settings that was not read."""
    named = {PurePath(item.value).name for item in case.settings if item.value.endswith(_FILES)}
    return not named <= {PurePath(item.file).name for item in case.settings}


def _of_fit(case: AuditCase, fit: ServerFit, by_fact: Mapping[str, str]) -> SettingFinding:
    """The finding that the server does not start, or cuts requests."""
    remedies = [_written(case, by_fact, change) for change in fit.reliefs]
    blamed = (fit.fact, *(("world",) if fit.fact == "tp" else ("cache_gb", "cache_bytes", "max_len")))
    key = next((by_fact[fact] for fact in blamed if fact in by_fact), "")
    if fit.starts:
        return _finding(
            case, key, "requests-beyond-cache", fit.says, _REFUSED, FindingKind.LIMIT, FindingLevel.WARNING,
            remedies,
        )  # fmt: skip
    cost, level = (NO_START, FindingLevel.ERROR) if fit.is_sure else (LIKELY, FindingLevel.WARNING)
    return _finding(case, key, NO_ROOM, fit.says, cost, FindingKind.REFUSED, level, remedies)


def _written(case: AuditCase, by_fact: Mapping[str, str], change: Mapping[str, Value]) -> str:
    return written_change(change, case.program, case.version, by_fact)


def _finding(
    case: AuditCase,
    key: str,
    rule: str,
    says: tuple[str, str],
    cost: tuple[str, str],
    kind: FindingKind,
    level: FindingLevel,
    remedies: list[str],
    source: str = "",
) -> SettingFinding:
    named = RunningSetting(key="--model", value=case.checkpoint or "MODEL", place=SettingPlace.FLAG)
    setting = next((item for item in case.settings if item.key == key), named)
    words = [dict(zip(("en", "zh"), pair, strict=True)) for pair in (says, cost)]
    return SettingFinding(
        rule=rule, kind=kind, level=level, setting=setting, says=words[0], cost=words[1], adds=True,
        remedy=remedies[0] if remedies else "", others=tuple(remedies[1:]), source=source,
    )  # fmt: skip
