"""The laws of an answer: what holds of any answer to any situation, judged without knowing the right one.

Each law is told the situation and what came back, and says what breaks it: nothing (it holds), or a line. A law that
does not apply to an answer says None. The bounds here are arithmetic and the engines' own: memory holds the weights, a
limit admits the load, a flag is one that the release's parser takes.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.kinds.engine_law import is_taken_by_the_engine
from benchmarks.kinds.replies import Reply, settings_of
from benchmarks.kinds.setting_laws import configures_what_is_there, offers_no_default, says_what_to_fill
from benchmarks.kinds.situations import PanelSituation
from benchmarks.kinds.sources import stacks
from kg.terms.meanings import meaning_of
from recommender.cost_model.layout_domain import SHARING

_BITS = {
    "bf16": 16,
    "bfloat16": 16,
    "fp16": 16,
    "fp8": 8,
    "int8": 8,
    "w8a8": 8,
    "w4a16": 4,
    "w4a8": 4,
    "fp4": 4,
}
_LENGTH_KEYS = ("max-model-len", "context-length", "maxseqlen")
_REQUEST_KEYS = ("max-num-seqs", "max-running-requests", "maxbatchsize")
MEMORY_MODELLED = frozenset(
    {
        "vllm",
        "vllm-ascend",
        "vllm-gaudi",
        "sglang",
        "mindie",
        "tensorrt-llm",
        "megatron-lm",
        "mindspeed-llm",
        "mindspeed",
    }
)
"""Programs whose memory the cost model describes: engines of language models, and trainers of Megatron's kind."""
_GENERIC_FORMATS = frozenset(
    {"ascend", "modelslim", "compressed-tensors", "quark", "modelopt", "auto", "auto-round"}
)
"""Values of ``--quantization`` that name a tool: the checkpoint says the format."""


def ends_properly(reply: Reply) -> str | None:
    """The exit code is one of an answer, and what is printed says the same."""
    code, out = reply.result.code, reply.content
    if code == -2:
        return "its time was spent"
    if code == -1 or code not in {0, 2, 3, 4}:
        return f"ended with {code}: {reply.result.err.strip()[-160:]}"
    if code == 0 and not (reply.start or out.get("recommendations") or out.get("changes")):
        return "exit 0 without an answer"
    if code == 0 and reply.start.get("fits") is False:
        return "exit 0 with a start that does not fit"
    if code == 4 and reply.start.get("fits") is True:
        return "exit 4 with a start that fits"
    if code in {2, 3} and not reply.result.err.strip() and not out.get("abstained"):
        return f"exit {code} without a reason"
    return ""


def keeps_its_time(reply: Reply) -> str | None:
    """Five CPU seconds."""
    return f"{reply.result.cpu_s:.1f} CPU s" if reply.result.cpu_s > 5 else ""


def unknown_program_is_refused(reply: Reply) -> str | None:
    """A program that nobody listed is refused by name, never replaced (law 7)."""
    if reply.situation.is_known or not reply.situation.program:
        return None
    instead = reply.start.get("framework")
    return f"answered for {instead}" if reply.is_answered and instead != reply.situation.program else ""


def keeps_software(reply: Reply) -> str | None:
    """The program and release that are told are the start's (law 1)."""
    situation = reply.situation
    if not reply.is_answered or not situation.program or not situation.is_known:
        return None
    framework, version = reply.start.get("framework"), reply.start.get("version")
    if situation.program in stacks().get(str(framework), ()):
        return ""  # what the start's program rests on
    if framework != situation.program:
        return f"told {situation.program}, start with {framework}"
    if situation.release and version != situation.release:
        return f"told {situation.release}, start with {version}"
    return ""


def keeps_precision(reply: Reply) -> str | None:
    """The number format that is told is the start's (law 1)."""
    told = reply.situation.precision.lower()
    if not reply.is_answered or told not in _BITS:
        return None
    (quantised, *_) = [value for _, value in reply.values("quantization")] or [""]
    quantised = quantised.lower()
    if _BITS[told] == 16 and quantised not in {"", "none"}:
        return f"told {told}, start quantised by {quantised}"
    for _, value in reply.values("dtype"):
        other = {"bf16": "float16", "bfloat16": "float16", "fp16": "bfloat16"}.get(told)
        if value == other or (told.startswith("bf") and value == "half"):
            return f"told {told}, dtype {value}"
    flags = {key for key, _ in settings_of(reply.start)}
    if reply.situation.phase == "training":
        wrong = {"bf16": "fp16", "bfloat16": "fp16", "fp16": "bf16"}.get(told)
        if wrong in flags:
            return f"told {told}, start sets {wrong}"
        if told == "fp8" and flags & {"bf16", "fp16"} and not any("fp8" in flag for flag in flags):
            return "told fp8, start trains in 16 bits"
        return ""
    named = quantised in _GENERIC_FORMATS or not quantised
    family = "fp" if told.startswith("fp") else "int"
    if not named and _BITS[told] < 16:
        is_float = "fp" in quantised
        if is_float != (family == "fp"):
            return f"told {told}, start quantised by {quantised}"
    return ""


def admits_lengths(reply: Reply) -> str | None:
    """The start admits the lengths that are told (laws 1 and 4)."""
    load = reply.situation.load
    if not reply.is_answered:
        return None
    if "seq_len" in load:
        length = reply.number("seq-length")
        return (
            None
            if length is None
            else ""
            if length == load["seq_len"]
            else f"told {load['seq_len']}, start {length:g}"
        )
    if not {"input_len", "output_len"} & set(load):
        return None
    asked = load.get("input_len", 0) + load.get("output_len", 0)
    limit = reply.number(*_LENGTH_KEYS)
    return (
        "" if limit is None or limit < 0 or limit >= asked else f"told {asked} tokens, start admits {limit:g}"
    )


def admits_load(reply: Reply) -> str | None:
    """The start admits the requests at once that are told, or as many as it says fit (laws 1 and 4)."""
    asked = reply.situation.load.get("concurrency")
    asked = (reply.content.get("situation") or {}).get("traits.running", {}).get("value", asked)
    if not reply.is_answered or asked is None or reply.situation.phase == "training":
        return None
    limit = reply.number(*_REQUEST_KEYS)
    if limit is None:
        return ""
    layout = reply.start.get("layout") or {}
    copies = 1 if reply.start.get("framework") == "sglang" else layout.get("dp", 1)
    return "" if limit * copies >= asked else f"told {asked} at once, start admits {limit * copies:g}"


def uses_the_devices(reply: Reply) -> str | None:
    """The start uses as many devices as asked, or says how many fewer (law 4)."""
    layout = reply.start.get("layout")
    if not reply.is_answered or not layout:
        return None
    used, asked = layout["devices"], reply.situation.count
    if used == asked:
        return ""
    said = " ".join([*reply.start.get("needs", ()), *reply.content.get("notes", ())])
    if used < asked and re.search(rf"\b{used}\b.*device|device.*\b{used}\b|\b{asked - used}\b.*idle", said):
        return ""
    return f"asked {asked}, start uses {used}"


def keeps_layout(reply: Reply) -> str | None:
    """Degrees that the launch sets are the start's, but for such as the answer says not to start (law 1)."""
    told, layout = reply.situation.layout, reply.start.get("layout")
    if not reply.is_answered or not told or not layout:
        return None
    refused = _refused_facts(reply)
    changed = [
        f"{name} {size} became {layout.get(name)}"
        for name, size in told.items()
        if layout.get(name) != size and name not in refused
    ]
    return ", ".join(changed)


def _refused_facts(reply: Reply) -> set[str]:
    """Facts of the launch with which the answer says that nothing starts, and writes another value for."""
    written = (
        str(item["remedy"].get("write") or "")
        for item in reply.content.get("findings", ())
        if item["kind"] == "refused" and item["level"] == "error"
    )
    keys = (key for text in written for key in re.findall(r"(\S+?)[ =]\S+", text))
    return {meaning.fact for key in keys if (meaning := meaning_of(key)) is not None}


def spreads_the_experts(reply: Reply) -> str | None:
    """What one server of vLLM spreads experts over by its switch is the degree that was priced (law 3)."""
    layout = reply.start.get("layout") or {}
    if not reply.is_answered or reply.start.get("framework") not in SHARING or layout.get("ep", 1) == 1:
        return None
    sizes = (reply.number(f"{name}-parallel-size") or 1 for name in ("tensor", "data"))
    spread = math.prod(sizes) if any(reply.values("enable-expert-parallel")) else 1
    return (
        "" if spread == layout["ep"] else f"priced over {layout['ep']}, the command spreads over {spread:g}"
    )


def keeps_bounds(reply: Reply) -> str | None:
    """A length or a number of requests that the launch sets stays as it is in the start (law 1)."""
    told = reply.situation.bounds
    if not reply.is_answered or not told:
        return None
    for name, keys in (("length", (*_LENGTH_KEYS, "seq-length")), ("requests", _REQUEST_KEYS)):
        value = reply.number(*keys)
        if name in told and value is not None and value != told[name]:
            return f"{name} {told[name]} became {value:g}"
    return ""


def holds_the_weights(reply: Reply) -> str | None:
    """Fail a start that is said to fit but cannot hold the weights, as its layout splits them (law 6)."""
    situation = reply.situation
    if not situation.listed or not situation.chip or not reply.is_answered:
        return None
    parameters, memory = situation.listed.size("parameters"), situation.chip.memory_bytes
    if not parameters or not memory:
        return None
    for start in reply.starts:
        layout = start.get("layout")
        says_not = any("does not fit" in note for note in reply.content.get("notes", ()))
        if not layout or start.get("fits") is False or (says_not and start.get("fits") is None):
            continue  # of what runs already it is said that it should not fit
        spread = layout["devices"]
        has_experts = situation.listed.size("experts") or "moe" in situation.listed.architecture
        if not has_experts and situation.phase != "training":
            spread = layout["tp"] * layout["pp"]
        bits = _least_bits(situation, start)
        need = parameters * bits / 8
        if need > memory * spread:
            return f"{need / 1e9:.0f} GB of weights on {spread} devices of {memory / 1e9:.0f} GB"
    return ""


def _least_bits(situation: PanelSituation, start: Mapping[str, Any]) -> float:
    """Bits of a weight, at least: as told, else as the start quantises, else as the model is published."""
    told = situation.precision.lower()
    if told in _BITS:
        return _BITS[told]
    assert situation.listed is not None
    published = str(situation.listed.facts.get("weight_format", ""))
    quantised = any(
        key.endswith("quantization") and value.lower() != "none" for key, value in settings_of(start)
    )
    said = " ".join(start.get("needs", ()))
    if (
        quantised
        or published
        or "accuracy is not known" in said
        or re.search(r"w\d+a\d+|fp\d|int\d|awq|gptq", situation.model.lower())
    ):
        return 4
    return 16


def does_not_fit_for_a_reason(reply: Reply) -> str | None:
    """Fail an "it does not fit" that neither arithmetic nor that program's memory model supports (law 8)."""
    situation = reply.situation
    if reply.result.code != 4:
        return None
    if not reply.start:
        return ""  # a format or an engine that the chip has not: no word about memory
    if situation.listed and situation.chip:
        parameters, memory = situation.listed.size("parameters"), situation.chip.memory_bytes
        if (
            parameters
            and memory
            and parameters * _BITS.get(situation.precision.lower(), 16) / 8 > memory * situation.count
        ):
            return ""
    support = reply.content.get("support")
    if isinstance(support, dict) and support.get("memory"):
        return ""
    framework = reply.start.get("framework")
    program = situation.program or framework
    if program not in MEMORY_MODELLED:
        return f"memory of {program or 'no program'} is not modelled"
    architecture = situation.listed.architecture if situation.listed else "decoder"
    return (
        ""
        if "decoder" in architecture or architecture in {"encoder", "multimodal"}
        else f"memory of {architecture} models is not modelled"
    )


def believes_nothing_better(reply: Reply) -> str | None:
    """No alternative is expected to do better than the start, and no change to do worse (law 10)."""
    if not reply.is_answered:
        return None
    gains = [change["gain"] for change in reply.content.get("changes", ()) if change.get("gain")]
    losing = [gain["expected_factor"] for gain in gains if gain["expected_factor"] < 1]
    if losing:
        return f"a change is expected to win {losing[0]}"
    if len(reply.starts) < 2:
        return "" if gains else None
    metric = (reply.content.get("problem") or {}).get("objective") or "throughput"
    values = [
        next((item["value"] for item in start.get("expected", ()) if item["metric"] == metric), None)
        for start in reply.starts
    ]
    first, *others = values
    if first is None:
        return None
    is_rate = metric.endswith("throughput")
    better = [one for one in others if one is not None and (one > first if is_rate else one < first)]
    return f"{metric} {first:g}, an alternative {better[0]:g}" if better else ""


LAWS: Mapping[str, Callable[[Reply], str | None]] = {
    "exit": ends_properly,
    "time": keeps_its_time,
    "unknown program": unknown_program_is_refused,
    "software": keeps_software,
    "precision": keeps_precision,
    "lengths": admits_lengths,
    "load": admits_load,
    "devices": uses_the_devices,
    "layout": keeps_layout,
    "experts": spreads_the_experts,
    "bounds": keeps_bounds,
    "weights": holds_the_weights,
    "memory model": does_not_fit_for_a_reason,
    "nothing better": believes_nothing_better,
    "parts": configures_what_is_there,
    "defaults": offers_no_default,
    "places": says_what_to_fill,
    "engine": is_taken_by_the_engine,
}
"""Laws of one answer to ``recommend``, by short name."""


def judge_reply(reply: Reply) -> dict[str, str | None]:
    """The verdict of each law on an answer."""
    return {name: law(reply) for name, law in LAWS.items()}
