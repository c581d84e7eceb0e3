"""Response of cost to a configuration: one learned model for each operator and metric.

A model answers the log cost of a configuration relative to the other configurations of its problem. It
sees the task, facts of a device and the configuration, so it answers for shapes and devices that were
never measured; how far to follow that is for :mod:`recommender.calibration.mixture` to say.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kg.archives import arrays as read_arrays
from kg.nouns.entities import Configuration, Problem
from kg.nouns.values import Settings, Value
from kg.rows.trials import TrialStore
from recommender.calibration.design import DesignColumns, device_row
from recommender.calibration.trees import BoostedTrees

Facts = Callable[[str], Mapping[str, Value]]

MOST_ROWS = 150_000
"""Rows a model learns from; of larger families a sample of whole problems."""

MOST_OF_ONE = 20_000
"""Rows a model learns from one problem; of larger ones every n-th by cost, so the best is always there. A
choice: the largest space of the shipped cases has fewer."""

LEAST_ROWS = 60
"""Rows below which copying answers as well as a model."""

LEARNED_FROM = 5_000
"""Timed rows of an operator below which no model is learned after an ingest: it costs seconds, and the
nearest case does as well."""

WORST = 3.0
"""Log ratio to a problem's best at which all bad is equally bad (a factor of 20)."""

_MANY_WORDS = 4
"""A parameter with more words than this is dispatched as often as chosen: learned both set and left open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseModel:
    """The learned model of one operator and metric.

    Attributes:
        design: Its columns.
        trees: What answers.
        numbers: What answers where words such as the framework are given and only numbers are to be
            decided; None where configurations have no words, or nothing but words.
        devices: Hardware it learned from, sorted.
        rows: Timed rows it learned from.
    """

    design: DesignColumns
    trees: BoostedTrees
    numbers: BoostedTrees | None
    devices: tuple[str, ...]
    rows: int = 0

    def predict(
        self,
        problem: Problem,
        configurations: Sequence[Configuration],
        devices: Sequence[str],
        facts: Facts,
        *,
        words_given: bool = False,
    ) -> NDArray[np.float64]:
        """Predict the log cost of configurations, relative to each other.

        Args:
            problem: Whose task is meant; its own device only counts if it is among ``devices``.
            configurations: n of them.
            devices: Hardware to answer for.
            facts: Facts by hardware id.
            words_given: The configurations differ in numbers alone.

        Returns:
            Shape (len(devices), n); differences within a row mean something, its level does not.
        """
        n = len(configurations)
        rows = self.design.configurations(configurations)
        task = np.repeat(self.design.tasks([problem]), n, axis=0)
        joined = [
            self.design.joined(task, np.repeat(device_row(facts, name)[None], n, axis=0), rows)
            for name in devices
        ]
        trees = self.numbers if words_given and self.numbers is not None else self.trees
        return trees.predict(np.concatenate(joined)).reshape(len(devices), n)


@dataclass(slots=True)
class ResponseModels:
    """The models of a workspace, by operator and metric."""

    models: dict[tuple[str, str], ResponseModel] = field(default_factory=dict)

    def of(self, problem: Problem) -> ResponseModel | None:
        """Return the model for a problem; None if nothing was learned about its operator."""
        return self.models.get((problem.workload.operator, problem.objective.metric))

    @classmethod
    def train(cls, problems: Mapping[int, Problem], trials: TrialStore, facts: Facts) -> Self:
        """Learn every operator that has enough timed rows.

        Args:
            problems: Known problems by their key in the trial store.
            trials: What was measured on them.
            facts: Facts by hardware id; LookupError for what it does not know.

        Raises:
            MissingDependencyError: scikit-learn is not installed.
        """
        families: dict[tuple[str, str], list[int]] = defaultdict(list)
        for key, problem in problems.items():
            families[problem.workload.operator, problem.objective.metric].append(key)
        models = cls()
        for name, keys in sorted(families.items()):
            keys.sort(key=lambda key: sample_order(problems[key].id))
            model = fit(((problems[key], key) for key in keys), trials, facts)
            if model is not None:
                models.models[name] = model
        return models

    def save(self, folder: Path) -> None:
        """Write plain arrays and a JSON header; a reader sees the old models or the new ones."""
        folder.mkdir(parents=True, exist_ok=True)
        header: list[dict[str, object]] = []
        arrays: dict[str, NDArray[Any]] = {}
        for number, (name, model) in enumerate(sorted(self.models.items())):
            header.append(
                {
                    "name": name,
                    "design": model.design.to_json(),
                    "devices": model.devices,
                    "rows": model.rows,
                }
            )
            arrays |= {f"{number}.{part}": array for part, array in model.trees.to_arrays().items()}
            if model.numbers is not None:
                arrays |= {f"{number}+.{part}": array for part, array in model.numbers.to_arrays().items()}
        content = json.dumps({"version": 1, "models": header}).encode()
        arrays["header"] = np.frombuffer(content, np.uint8)
        beside = folder / "response.new.npz"
        np.savez(beside, **arrays)  # type: ignore[arg-type]  # numpy types the keywords as its options
        beside.replace(folder / "response.npz")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Load the models that :meth:`save` wrote; none if there is no file."""
        path = folder / "response.npz"
        models = cls()
        if not path.is_file():
            return models
        arrays = read_arrays(path)
        for number, item in enumerate(json.loads(arrays["header"].tobytes())["models"]):
            trees, numbers = _trees(arrays, f"{number}."), _trees(arrays, f"{number}+.")
            if trees is not None:
                models.models[item["name"][0], item["name"][1]] = ResponseModel(
                    design=DesignColumns.from_json(item["design"]),
                    trees=trees,
                    numbers=numbers,
                    devices=tuple(item["devices"]),
                    rows=int(item["rows"]),
                )
        return models


def _trees(arrays: Mapping[str, NDArray[Any]], prefix: str) -> BoostedTrees | None:
    parts = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    return BoostedTrees.from_arrays(parts) if parts else None


@dataclass(frozen=True, slots=True)
class _Timed:
    """The timed rows of a problem."""

    problem: Problem
    ids: NDArray[np.int64]
    logs: NDArray[np.float64]


def sample_order(problem_id: str) -> bytes:
    """Return the place of a problem in the order of sampling: a hash, so random."""
    return hashlib.sha256(problem_id.encode()).digest()


def fit(problems: Iterable[tuple[Problem, int]], trials: TrialStore, facts: Facts) -> ResponseModel | None:
    """Learn one operator's response; None where there is too little to learn from.

    Args:
        problems: Problems of one operator and metric, with their keys, by ``sample_order``; no more of them
            are asked for than are learned from.
        trials: What was measured on them.
        facts: Facts by hardware id.

    Raises:
        MissingDependencyError: scikit-learn is not installed.
    """
    tables: list[_Timed] = []
    total = 0
    for problem, key in problems:
        ids, costs = trials.timed(key, MOST_OF_ONE)
        if len(ids) >= 2:
            tables.append(_Timed(problem, ids, np.log(costs)))
            total += len(ids)
            if total > MOST_ROWS:
                break
    if total < LEAST_ROWS:
        return None
    return _fit(tables, trials, facts)


def _fit(tables: Sequence[_Timed], trials: TrialStore, facts: Facts) -> ResponseModel | None:
    ids = sorted({int(item) for table in tables for item in table.ids})
    by_id = trials.configurations(ids)
    configurations = [by_id[item] for item in ids]
    row_of = {item: place for place, item in enumerate(ids)}
    rows = [np.array([row_of[int(item)] for item in table.ids]) for table in tables]
    many = _many_words(configurations)
    variants = [_without(configurations, len(ids), {name}) for name in sorted(many)]
    open_words = _without(configurations, len(ids), many)
    design = DesignColumns.of((table.problem for table in tables), configurations)
    if design.empty:
        return None
    devices = sorted({table.problem.hardware.name for table in tables})
    device_rows = np.stack([device_row(facts, name) for name in devices])
    hardware = np.array([devices.index(table.problem.hardware.name) for table in tables])
    tasks = design.tasks([table.problem for table in tables])
    columns = design.configurations(configurations)

    def learn(targets: _Targets) -> BoostedTrees | None:
        if targets.rows < LEAST_ROWS:
            return None
        at, row, target = targets.joined()
        return BoostedTrees.fit(design.joined(tasks[at], device_rows[hardware[at]], columns[row]), target)

    all_targets, numbers = _Targets(), _Targets()
    words = _words_of(configurations)
    for place, (table, mine) in enumerate(zip(tables, rows, strict=True)):
        all_targets.add(place, mine, table.logs)
        for variant in variants:
            if (variant[mine] != mine).any():
                all_targets.add(place, *_least(variant[mine], table.logs))
        if design.parameters and words:
            shown, logs = _least(open_words[mine], table.logs)
            group = np.array([words[item] for item in shown])
            for word in np.unique(group):
                numbers.add(place, shown[group == word], logs[group == word])
    trees = learn(all_targets)
    if trees is None:
        return None
    return ResponseModel(
        design=design, trees=trees, numbers=learn(numbers), devices=tuple(devices), rows=all_targets.rows
    )


class _Targets:
    """Log costs about the mean of their problem, growing."""

    def __init__(self) -> None:
        self.rows = 0
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []

    def add(self, place: int, rows: NDArray[np.int64], logs: NDArray[np.float64]) -> None:
        """Add rows that are compared with each other: configurations ``rows`` of the problem at ``place``."""
        if len(rows) > 1:
            regret = np.minimum(logs - logs.min(), WORST)
            self._parts.append((np.full(len(rows), place), rows, regret - regret.mean()))
            self.rows += len(rows)

    def joined(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return problem, configuration and target of every row."""
        at, row, target = zip(*self._parts, strict=True)
        return np.concatenate(at), np.concatenate(row), np.concatenate(target)


def _many_words(configurations: Sequence[Configuration]) -> set[str]:
    """Return the parameters with so many words that they are dispatched rather than chosen."""
    words: dict[str, set[str]] = defaultdict(set)
    for item in configurations:
        for name, value in item.items():
            if isinstance(value, str):
                words[name].add(value)
    return {name for name, values in words.items() if len(values) > _MANY_WORDS}


def _without(configurations: list[Configuration], complete: int, names: set[str]) -> NDArray[np.int64]:
    """Return the place of each complete configuration once some parameters are left open.

    Appends the configurations without those parameters to ``configurations``.
    """
    place: dict[Settings, int] = {}
    to = np.arange(complete)
    for at, item in enumerate(configurations[:complete]):
        if not names.isdisjoint(item):
            rest = Settings({key: value for key, value in item.items() if key not in names})
            if rest not in place:
                place[rest] = len(configurations)
                configurations.append(rest)
            to[at] = place[rest]
    return to


def _words_of(configurations: Sequence[Configuration]) -> list[int]:
    """Number the words of each configuration; empty if all have the same."""
    number: dict[tuple[tuple[str, str], ...], int] = {}
    of = [
        number.setdefault(tuple((n, v) for n, v in item.items() if isinstance(v, str)), len(number))
        for item in configurations
    ]
    return of if len(number) > 1 else []


def _least(
    rows: NDArray[np.int64], logs: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the least cost of each distinct row."""
    distinct, inverse = np.unique(rows, return_inverse=True)
    least = np.full(len(distinct), np.inf)
    np.minimum.at(least, inverse, logs)
    return distinct, least
