"""Contributions of the parameters to the gain of a search, by ablation from the default to the best.

Beginning at the default, the parameter whose change to its value in the best configuration gains most (or
loses least) is changed, then the next, until the best is reached; what each change gained, as a log ratio, is
its contribution, so contributions add up to the whole gain exactly. A change that breaks a constraint waits
for those it needs; what can only be changed together is told together. (Fawcett and Hoos, Analysing
differences between algorithm configurations through ablation, Journal of Heuristics 2016.)
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

from kg.errors import InputError
from kg.nouns.values import Settings, show
from recommender.space.space import SearchSpace

_TOGETHER = 3
"""Largest number of changes tried together before all that are left are made at once; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """The gain of one change on the way from the default to the best.

    Attributes:
        names: Parameters changed; several where they only go together.
        before: Their values before; None for a parameter that did not exist.
        after: Their values in the best configuration.
        log_gain: Natural log of the improvement; below zero it was a loss by itself.
        evaluated: True where both ends were evaluated, not predicted.
    """

    names: tuple[str, ...]
    before: tuple[object, ...]
    after: tuple[object, ...]
    log_gain: float
    evaluated: bool

    @property
    def title(self) -> str:
        """The change in words."""
        return ", ".join(
            f"{name} {'absent' if old is None else show(old)} -> {'absent' if new is None else show(new)}"  # type: ignore[arg-type]  # values of settings
            for name, old, new in zip(self.names, self.before, self.after, strict=True)
        )


def ablation(
    space: SearchSpace,
    default: Settings,
    best: Settings,
    cost: Callable[[Settings], tuple[float, bool]],
) -> list[Contribution]:
    """Contributions from the default to the best, in the order in which they were found.

    Args:
        space: Says what is allowed.
        default: Where it begins.
        best: Where it ends.
        cost: Log cost of a configuration and whether it was evaluated; inf where it does not run.

    Raises:
        InputError: The default does not run, so there is nothing to gain against.
    """
    here, (before, is_known) = default, cost(default)
    if not math.isfinite(before):
        raise InputError("the default does not run: contributions need a default that does")
    found: list[Contribution] = []
    while here != best:
        options = [
            (value, names, settings, known)
            for names, settings in _steps(space, here, best)
            for value, known in [cost(settings)]
            if math.isfinite(value)
        ]
        if not options:
            value, known = cost(best)
            options = [(value, _differing(here, best), best, known)]
        value, names, settings, known = min(options, key=lambda item: (item[0], item[1]))
        found.append(
            Contribution(
                names=names,
                before=tuple(here.get(name) for name in names),
                after=tuple(settings.get(name) for name in names),
                log_gain=before - value,
                evaluated=known and is_known,
            )
        )
        here, before, is_known = settings, value, known
    return found


def _differing(one: Settings, other: Settings) -> tuple[str, ...]:
    names = sorted({*one, *other})
    return tuple(n for n in names if (n in one, one.get(n)) != (n in other, other.get(n)))


def _steps(space: SearchSpace, here: Settings, best: Settings) -> list[tuple[tuple[str, ...], Settings]]:
    """Allowed changes of as few parameters as possible towards the best."""
    left = _differing(here, best)
    for size in range(1, min(_TOGETHER, len(left)) + 1):
        found = list(_allowed(space, here, best, left, size))
        if found:
            return found
    return []


def _allowed(
    space: SearchSpace, here: Settings, best: Settings, left: tuple[str, ...], size: int
) -> Iterator[tuple[tuple[str, ...], Settings]]:
    for names in combinations(left, size):
        content = {name: value for name, value in here.items() if name not in names}
        content |= {name: best[name] for name in names if name in best}
        settings = Settings(content)
        try:
            broken = space.violated(settings)
        except InputError:  # a conditional parameter without what it depends on
            continue
        if broken is None:
            yield names, settings
