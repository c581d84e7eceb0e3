"""Problems of a trial store on which strategies were tested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kg.rows.trials import TrialStore

_WITH_STRATEGIES = """
    SELECT p.id, p.hardware, p.operator, p.model, p.metric FROM problems AS p
    WHERE p.batch <= ?1 AND EXISTS (
        SELECT 1 FROM trials AS t WHERE t.problem = p.key AND t.strategy <> '' AND t.batch <= ?1
    ) ORDER BY p.id
"""


@dataclass(frozen=True, slots=True)
class StrategyProblems:
    """Problems of one device, operator, model and metric on which strategies were tested.

    Attributes:
        hardware: Id of the device.
        problems: Their ids, sorted.
    """

    hardware: str
    problems: tuple[str, ...]


def problems_with_strategies(trials: TrialStore) -> list[StrategyProblems]:
    """Return the problems that have a row of some strategy, grouped."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for identifier, *shared in trials.file.read(_WITH_STRATEGIES, trials.acknowledged):
        groups.setdefault(tuple(map(str, shared)), []).append(str(identifier))
    return [StrategyProblems(key[0], tuple(problems)) for key, problems in groups.items()]
