"""One price: what ``predict`` and ``estimate`` say of a situation is what ``recommend`` says of it (law 3)."""

from pathlib import Path

from benchmarks.kinds.command_line import CommandLine, CommandResult
from benchmarks.kinds.replies import Reply

PRICES = ("price of predict", "price of estimate", "price of size")
_DIGITS = 3
"""Digits of a printed number that must agree: four are printed, and the last is rounded."""


def judge_prices(reply: Reply, line: CommandLine, folder: Path) -> dict[str, str | None]:
    """Compare the price of the plan with those of other commands; None where the plan has none."""
    values = (item["value"] for item in reply.start.get("expected", ()) if item["metric"] == "throughput")
    own = next(map(float, values), None)
    if not reply.is_answered or own is None or _is_without(reply):
        return dict.fromkeys(PRICES)
    predicted = line.run(reply.situation.argv("predict", folder))
    estimated = line.run(reply.situation.argv("estimate", folder))
    now = predicted.content.get("now") or {}
    (first, *_) = estimated.content.get("estimates") or [{}]
    return {
        "price of predict": _compared(own, predicted, now.get("throughput")),
        "price of estimate": _compared(own, estimated, first.get("throughput")),
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
    for option in sized.content.get("options") or ():
        same = (
            option["layout"] == reply.start.get("layout") and option["framework"] == reply.start["framework"]
        )
        if same and option["concurrency"] == load and option["instances"] == 1 and not option["drafts"]:
            return _compared(own, sized, option["throughput_per_device"] * option["devices"])
    return None


def _compared(own: float, result: CommandResult, other: float | None) -> str:
    if result.code != 0 or other is None:
        said = " ".join(result.err.split())[:80]
        return f"exit {result.code} where recommend has a price: {said}"
    same = f"{own:.{_DIGITS}g}" == f"{other:.{_DIGITS}g}" or abs(own - other) < abs(own) * 10.0**-_DIGITS
    return "" if same else f"{own:.4g} became {other:.4g}"
