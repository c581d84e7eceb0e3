"""One price: what ``predict`` and ``estimate`` say of a situation is what ``recommend`` says of it (law 3)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.kinds.command_line import CommandLine, CommandResult
from benchmarks.kinds.replies import Reply

PRICES = ("price of predict", "price of estimate", "price of size")
_DIGITS = 3
"""Digits of a printed number that must agree: four are printed, and the last is rounded."""


def judge_prices(reply: Reply, line: CommandLine, folder: Path) -> dict[str, str | None]:
    """Compare the price of the plan with those of other commands; None where the plan has none."""
    own = expected(reply, "throughput")
    if not reply.is_answered or own is None or _is_without(reply):
        return dict.fromkeys(PRICES)
    predicted = line.run(reply.situation.argv("predict", folder))
    estimated = line.run(reply.situation.argv("estimate", folder))
    return {
        "price of predict": _compared(own, predicted, predicted_price(predicted)),
        "price of estimate": _compared(own, estimated, estimated_price(estimated)),
        "price of size": _size_price(reply, own, line, folder),
    }


def _is_without(reply: Reply) -> bool:
    """True if the start drops a costly setting of the running launch, which other commands price."""
    return any(item["level"] == "error" for item in reply.content.get("findings") or ())


def _size_price(reply: Reply, own: float, line: CommandLine, folder: Path) -> str | None:
    """Compare the price of ``size`` for the same layout at the told load; None where it does not list it."""
    load = reply.situation.load.get("concurrency")
    if load is None or reply.situation.phase != "serving":
        return None
    sized = line.run(reply.situation.argv("size", folder, "--pareto", "-k", "50"))
    for option in _content(sized).get("options") or ():
        same = (
            option["layout"] == reply.start.get("layout") and option["framework"] == reply.start["framework"]
        )
        if same and option["concurrency"] == load and option["instances"] == 1 and not option["drafts"]:
            return _compared(own, sized, option["throughput_per_device"] * option["devices"])
    return None


def expected(reply: Reply, metric: str) -> float | None:
    """The value that the start of a plan is expected to reach."""
    values = [item["value"] for item in reply.start.get("expected", ()) if item["metric"] == metric]
    return float(values[0]) if values else None


def predicted_price(result: CommandResult) -> float | None:
    """Throughput that ``predict`` starts from."""
    now = _content(result).get("now") or {}
    return _number(now.get("throughput"))


def estimated_price(result: CommandResult) -> float | None:
    """Throughput of the first configuration of ``estimate``."""
    (first, *_) = _content(result).get("estimates") or [{}]
    return _number(first.get("throughput"))


def _content(result: CommandResult) -> Mapping[str, Any]:
    try:
        content = json.loads(result.out)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _compared(own: float, result: CommandResult, other: float | None) -> str:
    if result.code != 0 or other is None:
        said = " ".join(result.err.split())[:80]
        return f"exit {result.code} where recommend has a price: {said}"
    same = f"{own:.{_DIGITS}g}" == f"{other:.{_DIGITS}g}" or abs(own - other) < abs(own) * 10.0**-_DIGITS
    return "" if same else f"{own:.4g} became {other:.4g}"
