"""The parts of what is searched: a model's embedding, attention and MLP, each with parameters and a time."""

from collections.abc import Collection
from dataclasses import dataclass

from kg.nouns.values import Settings
from recommender.space.expressions import Expression
from recommender.space.space import SearchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPart:
    """A part of what is searched.

    Attributes:
        name: What to call it, such as ``"attention"``.
        space: Of its own parameters and of those that no part has.
        metrics: What is measured of it; their sum is its cost, and the costs of all parts the whole.
    """

    name: str
    space: SearchSpace
    metrics: tuple[str, ...]


def subspace(space: SearchSpace, names: Collection[str]) -> SearchSpace:
    """The space of some parameters, with the constraints that speak of them alone, the table cut to them."""
    known = frozenset(space.names)
    return SearchSpace(
        parameters=tuple(parameter for parameter in space.parameters if parameter.name in names),
        constraints=tuple(
            item
            for item in space.constraints
            if item.expression and Expression.parse(item.expression, known).names <= set(names)
        ),
        listed=tuple(dict.fromkeys(cut(settings, names) for settings in space.listed)),
    )


def cut(settings: Settings, names: Collection[str]) -> Settings:
    """A configuration without the parameters that are not named."""
    return Settings({name: value for name, value in settings.items() if name in names})
