"""The design of an experiment, fixed before its first run: arms, metric, guardrails, margin, budget, order.

A round runs every arm once, in an order drawn for it from the seed, so that drift hits all arms alike and the
order is the same after a restart. Rounds of two arms are pairs.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from kg.errors import InputError
from kg.nouns.codec import JsonNoun, in_json
from kg.nouns.entities import Better, WorkloadKind
from kg.nouns.values import Settings, digest
from kg.terms.metrics import METRICS, canonical_metric
from recommender.experiment.mixture import least_pairs
from recommender.experiment.schemes import Scheme

CONTROL = "control"
"""Name of the arm that the others are compared with."""

UNTOLD = "(arm)"
"""The one setting of an arm whose settings were not told."""

LEAST_PAIRS = 6
"""Pairs that a budget must allow at least; ``least_pairs`` asks for more at a smaller alpha."""

MOST_PAIRS = 10_000
"""Pairs at most: each look costs a pass over all of them. A choice."""

_GUARD = re.compile(r"^\s*+([A-Za-z_][\w\s.-]*)(<=|>=)\s*+([+-]?\d[\d.eE+-]*+)\s*+(%?)\s*+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """A metric that the treatment must not spoil.

    Attributes:
        metric: Canonical name.
        limit: How much worse it may be: a log ratio if ``relative``, else a difference in its own unit.
        better: Direction of improvement.
        relative: Whether ratios are compared; a metric that may be zero needs differences.
        text: As it was written.
    """

    metric: str
    limit: float
    better: Better
    relative: bool
    text: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``"peak_memory<=+5%"``, ``"accuracy>=-0.5%"`` or ``"accuracy_loss<=0.002"``.

        With ``%`` it is the relative change against the control, without it the difference.

        Raises:
            InputError: It is none.
        """
        found = _GUARD.match(text)
        if found is None:
            raise InputError(f"--guard {text!r}: expected a metric and a change", hint="peak_memory<=+5%")
        name, sign, number, percent = map(str.strip, found.groups())
        try:
            change = float(number)
        except ValueError:
            raise InputError(f"--guard {text!r}: {number} is no number") from None
        metric = canonical_metric(name, WorkloadKind.OPERATOR)
        better = Better.LOWER if sign == "<=" else Better.HIGHER
        if metric in METRICS and METRICS[metric].better is not better:
            good = "<=" if better is Better.HIGHER else ">="
            raise InputError(f"--guard {text!r}: {metric} is guarded with {good}")
        worse = change if better is Better.LOWER else -change
        if worse < 0 or (percent and change <= -100):
            raise InputError(f"--guard {text!r}: it asks for an improvement", hint="a guard allows a loss")
        limit = abs(math.log1p(change / 100)) if percent else worse
        return cls(metric=metric, limit=limit, better=better, relative=bool(percent), text=text.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentDesign(JsonNoun):
    """The design of an experiment.

    Attributes:
        metric: What decides; canonical name.
        better: Which way it improves.
        unit: SI symbol; None if it was not told.
        arms: Configuration by name; ``CONTROL`` is the first.
        alpha: Chance that any verdict on the metric is wrong, however often it is looked at.
        margin: Log ratio below which a difference does not matter.
        guards: Metrics that must not be spoilt.
        pairs: Rounds at most that count.
        budget_s: Time of all runs at most; None without bound.
        warmup: Rounds at the start of each session that are run and do not count.
        repeats: Runs of an arm in a round and on an input that count; their mean log is one value.
        drop: Runs of an arm in a round before those, whose values are dropped: a switch is dear.
        inputs: Values of further placeholders; a round runs all arms on all of them.
        seed: Of the order.
        scheme: In which order measurements are taken; what is run here is randomised.
        is_self_test: Both arms are the same on purpose: a test of the set-up.
    """

    metric: str
    better: Better
    unit: str | None = None
    arms: Mapping[str, Settings] = field(default_factory=dict)
    alpha: float = 0.01
    margin: float = 0.01
    guards: tuple[Guard, ...] = field(
        default=(),
        metadata=in_json(
            write=lambda guards: [guard.text for guard in guards],
            read=lambda texts: tuple(map(Guard.parse, texts)),
        ),
    )
    pairs: int = 200
    budget_s: float | None = None
    warmup: int = 1
    repeats: int = 1
    drop: int = 0
    inputs: tuple[Settings, ...] = (Settings(),)
    seed: int = 0
    scheme: Scheme = Scheme.RANDOMISED
    is_self_test: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot give an answer.

        Raises:
            InputError: A number out of range, no control, arms that are the same, too few pairs.
        """
        if not 1e-6 <= self.alpha <= 0.2:
            raise InputError(f"an alpha of {self.alpha:g}", hint="0.01 or 0.05")
        if not 0 < self.margin < 1:
            raise InputError(f"a margin of {self.margin:g}", hint="1% or less: what does not matter to you")
        least = self.least
        if not least <= self.pairs <= MOST_PAIRS:
            raise InputError(
                f"{self.pairs} pairs cannot decide anything at alpha {self.alpha:g}",
                hint=f"give {least} to {MOST_PAIRS:,}",
            )
        if min(self.warmup, self.drop) < 0 or self.repeats < 1:
            raise InputError(f"{self.repeats} repeats, {self.warmup} warm-up rounds, {self.drop} dropped")
        if self.budget_s is not None and not self.budget_s > 0:
            raise InputError(f"a budget of {self.budget_s:g} s")
        if CONTROL not in self.arms or len(self.arms) < 2:
            raise InputError("an experiment needs a control and at least one treatment")
        seen: dict[str, str] = {}
        for name, configuration in self.arms.items():
            if configuration.digest in seen and not self.is_self_test:
                raise InputError(
                    f"{seen[configuration.digest]} and {name} are the same configuration ({configuration})",
                    hint="change one of them; --self-test runs the same twice on purpose",
                )
            seen[configuration.digest] = name
        twice = [guard.metric for guard in self.guards if guard.metric == self.metric]
        if twice:
            raise InputError(f"{self.metric} decides and needs no guard")

    @property
    def treatments(self) -> tuple[str, ...]:
        """The arms that are compared with the control."""
        return tuple(name for name in self.arms if name != CONTROL)

    @property
    def level(self) -> float:
        """Alpha of one treatment: with several, each has its share, so that all intervals hold at once."""
        return self.alpha / len(self.treatments)

    @property
    def guard_level(self) -> float:
        """Alpha of one guardrail; the failure of runs is one more."""
        return self.level / (len(self.guards) + 1)

    @property
    def least(self) -> int:
        """Pairs before the first verdict."""
        return max(LEAST_PAIRS, least_pairs(self.alpha / max(1, len(self.arms) - 1)))

    def order(self, number: int) -> list[str]:
        """The order of the arms in a round; the same whenever it is asked for."""
        names = list(self.arms)
        drawn = np.random.default_rng([self.seed, number]).permutation(len(names))
        return [names[place] for place in drawn]

    @property
    def digest(self) -> str:
        """Identifier of all of it: a resumed experiment must find it unchanged."""
        return digest(self.to_json())


def treatments_named(given: Sequence[Settings]) -> dict[str, Settings]:
    """Names for treatments: ``treatment``, or ``treatment-1`` and so on where there are several."""
    if len(given) == 1:
        return {"treatment": given[0]}
    return {f"treatment-{number}": item for number, item in enumerate(given, 1)}
