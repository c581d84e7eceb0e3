"""Quantities in the names of columns: metric and unit, as people write them.

``throughput/tokens_per_sec_per_gpu``, ``Latency (ms)``, ``time_ms`` and ``tpot_s_mean`` name what they
measure; a name that does not is left alone.
"""

import re
from dataclasses import dataclass

from kg.nouns.entities import WorkloadKind
from kg.terms.metrics import METRICS, canonical_metric
from kg.terms.units import unit

_IN_BRACKETS = re.compile(r"(.*)[(\[]([^()\[\]]+)[)\]]")
_RATE = re.compile(
    r"(tokens?|tok|toks|samples?|seqs?|sequences|images?|imgs?|requests?|reqs?|steps?|it|iters?|frames?|queries)"
    r"(?:_per_|/|_?p|(?<=tok)_|(?<=toks)_|(?<=tokens)_|(?<=samples)_)(?:seconds?|secs?|s)(?![a-z])(?:(?:_per_|/)(gpu|npu|device|card|chip|accelerator))?"
)
_PER_REQUEST = re.compile(r"(?:_per_|/)_*(?:users?|requests?|reqs?|streams?)")
_OF_ONE_PHASE = {
    **dict.fromkeys(("prefill", "prompt", "input"), "prefill_throughput"),
    **dict.fromkeys(("decode", "decoding"), "decode_throughput"),
}
"""Metrics of rates by the words before them; the rest counts what comes out."""
_SHORT_RATES = {"tps": "tokens/s", "qps": "requests/s", "rps": "requests/s"}
_TIME_OF_STEP = re.compile(r"(s|secs?|seconds?|ms)(?:/|_per_)(?:it|iters?|iterations?|steps?)")
_PER_DEVICE = re.compile(r"\b(device|gpu|npu|card|chip|accelerator)/")
_PATH = re.compile(r"[/.]")
_PLAIN = {"mean", "avg", "average", "median", "p50", "output"}
"""Words beside a metric that leave it what it is: a throughput is of what comes out."""
_NO_UNIT = re.compile(r"[^\w%/]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """The metric and unit of a column.

    Attributes:
        metric: Canonical name.
        unit: As the column has it; empty if it names none.
    """

    metric: str
    unit: str


def quantity(name: str) -> Quantity | None:
    """The quantity that a column's name states; None if it states no known one."""
    bracketed = _IN_BRACKETS.fullmatch(name.rstrip())
    stem, given = (bracketed[1].rstrip(), bracketed[2].strip()) if bracketed else (name, "")
    if given and not _is_unit(given):
        stem, given = f"{stem} {given}", ""
    lowered = re.sub(r"[\s\-]+", "_", stem.strip().lower().replace(" / ", "/"))
    if (rate := _RATE.search(lowered)) is not None:
        if _PER_REQUEST.match(lowered, rate.end()):  # its speed is no throughput
            return None
        device = rate[2] or (_PER_DEVICE.search(lowered) or ("",))[0].rstrip("/")
        before = re.split(r"[_./]+", lowered[: rate.start()])
        metric = next((_OF_ONE_PHASE[word] for word in before if word in _OF_ONE_PHASE), "throughput")
        return Quantity(metric=metric, unit=f"{rate[1]}/s" + (f"/{device}" if device else ""))
    if step := _TIME_OF_STEP.fullmatch((bracketed[2] if bracketed else name).strip().lower()):
        return Quantity(metric="step_time", unit=step[1])
    words = [word for word in re.split(r"[_./]+", lowered) if word]
    if words and words[-1] in _SHORT_RATES:
        metric = next((_OF_ONE_PHASE[word] for word in words if word in _OF_ONE_PHASE), "throughput")
        return Quantity(metric=metric, unit=_SHORT_RATES[words[-1]])
    if _is_unit(stem.strip()) and unit(stem.strip()).symbol.startswith("FLOP/s"):
        return Quantity(metric="compute_rate", unit=stem.strip())
    originals = [word for word in re.split(r"[_./\s\-]+", stem.strip()) if word]
    plain = [word for word in words if word not in _PLAIN]
    found = _metric("_".join(words)) or _metric("_".join(plain)) or _metric(_PATH.split(lowered)[-1])
    if found or len(plain) < 2:
        return Quantity(metric=found, unit=given) if found else None
    found = _metric("_".join(plain[:-1]))
    symbol = next((word for word in reversed(originals) if word.lower() == plain[-1]), "")
    if not found and len(plain) > 2:  # a time for a part of the work: kernel_time_ms, time_s_mean
        found = _metric("_".join(plain[-2:-1]))
    if found and _is_unit(symbol):
        return Quantity(metric=found, unit=given or symbol)
    return None


def _metric(name: str) -> str:
    """Canonical name of a known metric; empty if it is none."""
    found = canonical_metric(name, WorkloadKind.OPERATOR)
    return found if found in METRICS else ""


def _is_unit(text: str) -> bool:
    if not text or _NO_UNIT.search(text):
        return False
    try:
        unit(text)
    except ValueError:
        return False
    return True
