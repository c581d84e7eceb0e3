"""GeneratedSpace spaces: parameters and constraints, and what was left out with the reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kg.errors import InfeasibleError
from recommender.space.space_file import read_space


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedValue:
    """A value or rule that was left out of a space, with the reason.

    Attributes:
        what: Parameter and value.
        why: The rule.
        source: Where the rule is from.
    """

    what: str
    why: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedSpace:
    """A generated space.

    Attributes:
        parameters: Values by parameter, or values and condition as a search file has them.
        constraints: Rules that relate parameters, as a search file has them.
        excluded: What was left out before.
        skipped: Rules that could not be asked, and the fact they lack.
        notes: What else is to be known of it.
        configurations: How many are left; None if more than were counted.
    """

    parameters: Mapping[str, Any]
    constraints: tuple[Mapping[str, str], ...]
    excluded: tuple[ExcludedValue, ...]
    skipped: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())
    configurations: int | None


@dataclass(slots=True, kw_only=True)
class SpaceDraft:
    """A space while it is being made; see ``GeneratedSpace``."""

    parameters: dict[str, Any] = field(default_factory=dict)
    constraints: list[dict[str, str]] = field(default_factory=list)
    excluded: list[ExcludedValue] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def finish(self, *, most: int) -> GeneratedSpace:
        """The space, counted if it has at most ``most`` configurations.

        Raises:
            InfeasibleError: It is empty; the message names the rules that emptied it.
        """
        return GeneratedSpace(
            parameters=self.parameters,
            constraints=tuple(self.constraints),
            excluded=tuple(self.excluded),
            skipped=tuple(self.skipped),
            notes=tuple(self.notes),
            configurations=count_configurations(self.parameters, self.constraints, self.excluded, most=most),
        )


def rule(expression: str, reason: str, source: str) -> dict[str, str]:
    """A constraint as a search file has it."""
    return {"expression": expression, "reason": reason, "source": source}


def count_configurations(
    parameters: Mapping[str, Any],
    constraints: list[dict[str, str]],
    excluded: list[ExcludedValue],
    *,
    most: int,
) -> int | None:
    """Number of configurations of a space; None if more than ``most``.

    Raises:
        InfeasibleError: None; the message names the rules that emptied the space.
    """
    if empty := [name for name, values in parameters.items() if not values]:
        rules = "; ".join(dict.fromkeys(x.why for x in excluded if x.what.startswith(f"{empty[0]}=")))
        raise InfeasibleError(f"no value of {empty[0]} is left: {rules}")
    space = read_space({"parameters": dict(parameters), "constraints": constraints})
    count = space.size(most)
    if count == 0:
        emptied = [item["reason"] for item in constraints if not _alone(parameters, item)]
        if not emptied:
            emptied = [item["reason"] for item in constraints]
        raise InfeasibleError("no configuration is left", hint="; ".join(dict.fromkeys(emptied)))
    return count


def _alone(parameters: Mapping[str, Any], constraint: dict[str, str]) -> bool:
    """True if one rule alone leaves anything."""
    space = read_space({"parameters": dict(parameters), "constraints": [constraint]})
    return any(len(block) for block in space.blocks())
