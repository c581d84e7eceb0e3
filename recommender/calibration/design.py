"""Numbers that a response model sees of a problem on a device and of a configuration.

Names of dimensions and parameters are taken from the cases themselves; nothing here knows an operator.
Sizes stand on a log scale, so that the difference of two columns is the logarithm of a ratio: of a
dimension to the parameter that divides it, of one tile to another.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from kg.nouns.codec import JsonNoun
from kg.nouns.entities import Configuration, Problem
from kg.nouns.values import Settings, Value

FACTS = (
    "compute_units",
    "memory_bandwidth_bytes_per_s",
    "peak_fp16_flops",
    "warp_size",
)
"""Facts of a device that a model may lean on, and after them the operations it has for a byte of bandwidth.

Few on purpose: with a handful of devices every further fact only tells them apart by name, and on the shared
MoE layouts memory size, cache and year made the answers for an unseen device worse.
"""

_STAND_INS = {"peak_fp16_flops": "peak_bf16_flops"}
_MOST_WORDS = 40
_MOST_PARAMETERS = 12
_MOST_DIMENSIONS = 12
_DIGITS = re.compile(r"\d+")
_BOTH = re.compile(r"w(\d+)a(\d+)")
_WEIGHTS_ONLY = re.compile(r"(?:^|_)(?:wo|weight_only)(?:_|$)")


def magnitude(value: float) -> float:
    """Return a size on a log scale: log2 from 1 on, straight between -1 and 1, mirrored below."""
    size = abs(value)
    scaled = math.log2(size) if size >= 1 else size - 1
    return scaled if value >= 0 else -2 - scaled


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """Numbers and words of a problem or a configuration.

    Attributes:
        numbers: Magnitudes by name.
        words: What has no scale, as ``name=value``.
    """

    numbers: Mapping[str, float]
    words: frozenset[str]


def split(settings: Settings) -> Traits:
    """Settings as magnitudes and words; a number written as text counts as a number."""
    numbers: dict[str, float] = {name: magnitude(value) for name, value in settings.numbers()}
    words: set[str] = set()
    for name, value in settings.items():
        if isinstance(value, bool):
            numbers[name] = float(value)
        elif isinstance(value, str):
            number = _number(value)
            if number is None:
                words.add(f"{name}={value}")
            else:
                numbers[name] = magnitude(number)
        elif value is None:
            words.add(f"{name}=none")
    return Traits(numbers=numbers, words=frozenset(words))


def task_traits(problem: Problem) -> Traits:
    """Return the features of a task before any measurement: all but the device."""
    work = problem.workload
    shape, extra = split(work.shape), split(work.traits)
    numbers = {**extra.numbers, **shape.numbers}
    words = set(shape.words | extra.words)
    if problem.hardware.count is not None:
        numbers["devices"] = magnitude(problem.hardware.count)
    if work.precision is not None:
        words.add(f"precision={work.precision}")
        numbers |= _bits(work.precision)
    if work.model is not None:
        words.add(f"model={work.model}")
    return Traits(numbers=numbers, words=frozenset(words))


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignColumns(JsonNoun):
    """The columns of one operator's model, in order.

    Attributes:
        dimensions: Numbers of the task.
        task_words: Words of the task.
        parameters: Numbers of the configuration.
        parameter_words: Words of the configuration.
    """

    dimensions: tuple[str, ...]
    task_words: tuple[str, ...]
    parameters: tuple[str, ...]
    parameter_words: tuple[str, ...]

    @classmethod
    def of(cls, problems: Iterable[Problem], configurations: Iterable[Configuration]) -> Self:
        """Choose the columns in which these problems and configurations differ."""
        dimensions, task_words = _varying([task_traits(problem) for problem in problems])
        parameters, parameter_words = _varying([split(item) for item in configurations])
        return cls(
            dimensions=dimensions,
            task_words=task_words,
            parameters=parameters,
            parameter_words=parameter_words,
        )

    @property
    def empty(self) -> bool:
        """True if configurations differ in nothing that can be learned from."""
        return not self.parameters and not self.parameter_words

    def tasks(self, problems: Sequence[Problem]) -> NDArray[np.float64]:
        """Return columns of the tasks, one row a problem."""
        return _rows([task_traits(problem) for problem in problems], self.dimensions, self.task_words)

    def configurations(self, configurations: Sequence[Configuration]) -> NDArray[np.float64]:
        """Return columns of the configurations, one row each."""
        return _rows([split(item) for item in configurations], self.parameters, self.parameter_words)

    def joined(
        self, tasks: NDArray[np.float64], devices: NDArray[np.float64], configurations: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return all columns, with sums and differences of magnitudes.

        Args:
            tasks: Rows of :meth:`tasks`, shape (n, .).
            devices: Rows of :func:`device_row`, shape (n, .).
            configurations: Rows of :meth:`configurations`, shape (n, .).
        """
        sizes = tasks[:, : min(len(self.dimensions), _MOST_DIMENSIONS)]
        knobs = configurations[:, : min(len(self.parameters), _MOST_PARAMETERS)]
        ratios = (sizes[:, :, None] - knobs[:, None, :]).reshape(len(tasks), -1)
        first, second = np.triu_indices(knobs.shape[1], 1)
        one, other = knobs[:, first], knobs[:, second]
        return np.concatenate([tasks, devices, configurations, ratios, one + other, one - other], axis=1)


def device_row(facts: Callable[[str], Mapping[str, Value]], hardware: str) -> NDArray[np.float64]:
    """Return facts of a device as magnitudes, nan where unknown.

    Args:
        facts: Facts by id; LookupError for a device it does not know.
        hardware: Id of the device.
    """
    try:
        values = facts(hardware)
    except LookupError:
        values = {}
    row = np.full(len(FACTS) + 1, np.nan)
    for place, name in enumerate(FACTS):
        value = values.get(name, values.get(_STAND_INS.get(name, "")))
        if isinstance(value, int | float):
            row[place] = magnitude(float(value))
    row[-1] = row[FACTS.index("peak_fp16_flops")] - row[FACTS.index("memory_bandwidth_bytes_per_s")]
    return row


def _bits(precision: str) -> dict[str, float]:
    """Return bits of weights and of activations: ``w4a16`` says both, ``int4_wo`` quantises weights only."""
    both = _BOTH.search(precision)
    digits = _DIGITS.findall(precision)
    if both:
        weights, activations = both.groups()
    elif digits:
        weights = digits[0]
        activations = "16" if _WEIGHTS_ONLY.search(precision) else weights
    else:
        return {}
    return {"weight bits": magnitude(float(weights)), "activation bits": magnitude(float(activations))}


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _varying(rows: Sequence[Traits]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return numbers and words that are not the same in every row; of the words only the commonest."""
    seen: dict[str, set[float]] = {}
    here: Counter[str] = Counter()
    words: Counter[str] = Counter()
    for row in rows:
        for name, value in row.numbers.items():
            here[name] += 1
            values = seen.setdefault(name, set())
            if len(values) < 2:
                values.add(value)
        words.update(row.words)
    numbers = sorted(name for name, values in seen.items() if len(values) > 1 or here[name] < len(rows))
    varying = [(-number, word) for word, number in words.items() if number < len(rows)]
    return tuple(numbers), tuple(sorted(word for _, word in sorted(varying)[:_MOST_WORDS]))


def _rows(rows: Sequence[Traits], numbers: Sequence[str], words: Sequence[str]) -> NDArray[np.float64]:
    result = np.full((len(rows), len(numbers) + len(words)), np.nan)
    number_at = {name: place for place, name in enumerate(numbers)}
    word_at = {word: len(numbers) + place for place, word in enumerate(words)}
    result[:, len(numbers) :] = 0.0
    for place, row in enumerate(rows):
        for name, value in row.numbers.items():
            if name in number_at:
                result[place, number_at[name]] = value
        for word in row.words:
            if word in word_at:
                result[place, word_at[word]] = 1.0
    return result
