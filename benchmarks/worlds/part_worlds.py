"""Models of parts with a known optimum: kernels of one device, timed exhaustively by others, run one after the other.

Each kernel is a part with its own parameters; the whole is the sum of their times, each kernel called as often as
gives the parts equal times at their medians. ``tied``: one launch parameter has the same value in all kernels that
have it, so it is no part's own. ``coupled``: a kernel that launches otherwise than the first is a fifth slower,
which no part knows of. Times are measured, the sum and the fifth are ours.
"""

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.searches.kernel_searches import evaluation as plain_evaluation
from benchmarks.worlds.kernel_spaces import Space
from kg.nouns.values import Settings
from recommender.search.evaluations import Evaluation
from recommender.space.parameters import Parameter
from recommender.space.parts import SearchPart
from recommender.space.space import SearchSpace

VARIANTS = ("apart", "tied", "coupled")
TIED = "block_size_x"
SLOWER = 1.2
"""Factor of launching otherwise where kernels are coupled; a choice that moves the optimum."""
_DRAWN = 20_000
"""Random configurations that stand for the whole product in random search's expectation."""


@dataclass(frozen=True, kw_only=True)
class Product(SearchSpace):
    """The space of several tables together; each part's configuration is one of its table."""

    tables: tuple[SearchSpace, ...] = ()

    @cached_property
    def finite(self) -> bool:
        return False

    @cached_property
    def _columns_of(self) -> list[list[int]]:
        return [[self.names.index(name) for name in table.names] for table in self.tables]

    def allowed(self, u: NDArray[np.float64]) -> NDArray[np.bool_]:
        held = np.ones(len(u), bool)
        for table, columns in zip(self.tables, self._columns_of, strict=True):
            held &= table.allowed(u[:, columns])
        return held

    def sample_coordinates(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        drawn = [next(iter(table.blocks())) for table in self.tables]
        found = np.full((4 * n, len(self.parameters)), np.nan)
        for points, columns in zip(drawn, self._columns_of, strict=True):
            found[:, columns] = points[rng.integers(len(points), size=len(found))]
        return found[self.allowed(found)][:n]


class World(Space):
    """A model of parts."""

    def __init__(self, tables: list[Space], variant: str) -> None:
        super().__init__(kernel="+".join(t.kernel for t in tables), task=variant, device=tables[0].device)
        self.tables, self.variant = tables, variant
        self.calls = [
            1.0 / float(np.median([c for c in t.costs.values() if math.isfinite(c)])) for t in tables
        ]
        self.costs = _Sums(self)  # type: ignore[assignment]  # read only, one configuration at a time

    def local(self, part: int, name: str) -> str:
        """The name of a kernel's parameter in the whole."""
        return name if self.variant == "tied" and name == TIED else f"{self.tables[part].kernel}.{name}"

    @cached_property
    def parts(self) -> tuple[SearchPart, ...]:
        found = []
        for place, table in enumerate(self.tables):
            parameters = []
            for parameter in table.space.parameters:
                name = self.local(place, parameter.name)
                values = self._tied if name == TIED else parameter.values
                parameters.append(replace(parameter, name=name, values=values))
            if self.variant == "tied" and all(p.name != TIED for p in parameters):
                parameters = [*parameters, replace(self._tying, values=self._tied)]
            listed = [
                Settings({self.local(place, name): value for name, value in settings.items()})
                for settings in table.costs
            ]
            if self.variant == "tied":
                listed = [
                    one
                    for settings in listed
                    for value in ([settings[TIED]] if TIED in settings else self._tied)
                    if value in self._tied
                    for one in [Settings({**settings, TIED: value})]
                ]
            space = SearchSpace(parameters=tuple(parameters), listed=tuple(listed))
            found.append(SearchPart(name=table.kernel, space=space, metrics=(table.kernel,)))
        return tuple(found)

    @cached_property
    def _tying(self) -> Parameter:
        return next(p for t in self.tables for p in t.space.parameters if p.name == TIED)

    @cached_property
    def _tied(self) -> tuple[Any, ...]:
        """Values that all kernels with the tied parameter can run with."""
        have = [
            {s[TIED] for s, c in t.costs.items() if math.isfinite(c)} for t in self.tables if TIED in t.values
        ]
        return tuple(sorted(set.intersection(*have)))

    @cached_property
    def space(self) -> Product:
        seen = {p.name: p for part in self.parts for p in part.space.parameters}
        return Product(parameters=tuple(seen.values()), tables=tuple(part.space for part in self.parts))

    def times(self, settings: Settings) -> list[float]:
        """Times of each part; inf where it fails."""
        mine = [
            Settings(
                {name: settings[self.local(k, name)] for name in t.values if self.local(k, name) in settings}
            )
            for k, t in enumerate(self.tables)
        ]
        found = [calls * t.costs[s] for calls, t, s in zip(self.calls, self.tables, mine, strict=True)]
        if self.variant == "coupled":
            launches = [s.get(TIED) for s in mine]
            found = [
                time * (SLOWER if launch is not None and launch != launches[0] else 1.0)
                for time, launch in zip(found, launches, strict=True)
            ]
        return found

    @cached_property
    def optimum(self) -> float:
        """The least sum, from the least time of each kernel for each launch."""
        if self.variant == "apart":
            return sum(c * t.best for c, t in zip(self.calls, self.tables, strict=True))
        least = []
        for calls, table in zip(self.calls, self.tables, strict=True):
            by_launch: dict[object, float] = defaultdict(lambda: math.inf)
            for settings, cost in table.costs.items():
                by_launch[settings.get(TIED)] = min(by_launch[settings.get(TIED)], calls * cost)
            least.append(dict(by_launch))
        best = math.inf
        for launches in itertools.product(*least):
            first = launches[0]
            same = [launch in (None, first) for launch in launches]
            if self.variant == "tied" and not all(same):
                continue
            sums = [by[x] * (1.0 if s else SLOWER) for by, x, s in zip(least, launches, same, strict=True)]
            best = min(best, sum(sums))
        return best

    @cached_property
    def sorted(self) -> NDArray[np.float64]:
        drawn = self.space.sample(np.random.default_rng(0), _DRAWN)
        found = np.array([self.costs[settings] for settings in drawn])
        worst = found[np.isfinite(found)].max()
        return np.sort(np.append(np.where(np.isfinite(found), found, worst), self.optimum))

    def evaluation(self, settings: Settings) -> Evaluation:
        """The evaluation of a run of the whole: the sum, and the time of each part."""
        times = self.times(settings)
        told = plain_evaluation(self, settings)
        return replace(told, parts=tuple(times)) if told.ok else told


class _Sums:
    """The sum of the parts by configuration."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __getitem__(self, settings: Settings) -> float:
        return sum(self._world.times(settings))


def worlds(spaces: list[Space], variants: tuple[str, ...] = VARIANTS) -> list[World]:
    """One a device and variant, of all kernels that were timed on it."""
    by_device = defaultdict(list)
    for space in spaces:
        by_device[space.device].append(space)
    found = []
    for timed in by_device.values():
        tables = sorted(timed, key=lambda t: (TIED not in t.values, t.kernel))
        if len({t.kernel for t in tables}) == len(tables) > 1:
            found += [
                World(tables, variant)
                for variant in variants
                if variant == "apart" or sum(TIED in t.values for t in tables) > 1
            ]
    return found
