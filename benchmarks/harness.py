"""One way for all benchmarks: options, groups held out by a seed, scores, and a last line of JSON.

A benchmark reads its options with :func:`read`. Every one takes ``--quick`` where it has a shorter form, ``--seed N``
(``week``, the default, is the ISO week of today as a number, such as 202648) and ``--all``.

* By default the hold-outs **rotate**: the seed draws which families, documents, devices, programs, operators or jobs
  are asked (:meth:`Run.draw`), everything that is fitted is fitted without all of them, and what is simulated takes
  its random numbers from the seed. Nobody can have looked at next week's draw.
* ``--all`` asks every group with the random numbers of the published figures, each group left out in turn where the
  benchmark nests its choices: the development and the nested figures.

What a benchmark cannot fit again in its run (it says so in its docstring) keeps the shipped constants.

The last line on stdout is one JSON object: ``seed``, ``n`` (what was asked, refusals included), ``held_out`` (names of
the drawn groups by kind; ``each`` with ``--all``), ``cpu_s`` and the figures. Shares are 0 to 1; errors that end in
``_mape``, ``_median`` or ``_p90`` are per cent; regrets are natural logs; what has no cases is null. A refusal counts as
a miss where the question can be answered.
"""

import argparse
import datetime
import gzip
import hashlib
import json
import math
import random
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from kg.errors import TuningError

EACH = "each"
"""Stands for the drawn groups where every group is asked."""
SHARE = 0.2
"""Part of the groups that a seed draws: five weeks ask about as many as there are."""
APART = 1000
"""Numbers of searches and worlds between two seeds, so that no two weeks share one."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of one benchmark: its names and what argparse is told."""

    names: tuple[str, ...]
    told: Mapping[str, object]
    is_place: bool = False


def option(*names: str, **told: object) -> Option:
    """An option, as ``argparse`` takes it."""
    return Option(names, told)


def place(*names: str, **told: object) -> Option:
    """A folder or file that has to be there; required unless ``required`` or ``default`` says otherwise."""
    usual: dict[str, object] = {"type": Path}
    if names[0].startswith("-") and "default" not in told:
        usual["required"] = True
    return Option(names, usual | told, is_place=True)


class Run(argparse.Namespace):
    """One run of a benchmark: its options, and what its seed draws.

    Attributes:
        seed: Draws the groups and the random numbers.
        quick: Whether a shorter form is wanted.
        all: Whether every group is asked, with the random numbers of the published figures.
        held_out: Drawn groups by kind.
    """

    seed: int
    quick: bool
    all: bool
    held_out: dict[str, list[str] | str]
    since: float

    def draw(
        self, kind: str, names: Iterable[str], *, share: float = SHARE, least: int = 1
    ) -> frozenset[str]:
        """The groups that are held out and asked; all of them with ``--all``.

        Which they are depends on the seed, the kind and the names alone, never on their order or number of times.

        Args:
            kind: What the groups are, such as ``"device"``.
            names: All groups.
            share: Part of them to draw.
            least: How many to draw at least, as far as there are so many.
        """
        groups = sorted(set(names))
        if self.all:
            self.held_out[kind] = EACH
            return frozenset(groups)

        def place_of(name: str) -> bytes:
            return hashlib.sha256(f"{self.seed}\0{kind}\0{name}".encode()).digest()

        count = min(len(groups), max(least, round(share * len(groups))))
        drawn = sorted(groups, key=place_of)[:count]
        self.held_out[kind] = sorted(drawn)
        return frozenset(drawn)

    def seed_range(self, count: int) -> range:
        """Seeds of so many searches or worlds: from 0 with ``--all``, else numbers that no other week has."""
        first = self.seed * APART if not self.all else self.seed
        return range(first, first + count)

    def rng(self, *stream: int) -> np.random.Generator:
        """Random numbers of the seed; another stream gives others."""
        import numpy as np

        return np.random.default_rng([self.seed, *stream])

    def random(self) -> random.Random:
        """The same from the standard library."""
        return random.Random(self.seed)

    @property
    def is_one_folder(self) -> bool:
        """True if the known and the asked data are one folder: then groups are left out of it."""
        return bool(self.known.resolve() == self.asked.resolve())

    def last_line(self, figures: Mapping[str, object], *, n: int | None = None) -> None:
        """Print the figures for people, then as one line of JSON with the seed and what it drew.

        Args:
            figures: By name.
            n: What was asked, refusals included; None where ``figures`` has it or nothing is asked.
        """
        about = {"seed": self.seed, "n": n, "held_out": self.held_out, "quick": self.quick}
        spent = {"cpu_s": round(time.process_time() - self.since, 1)}
        print(*drawn_up(plain(figures)), sep="\n")
        last_line(about | spent | dict(figures))


def read(doc: str | None, *options: Option, quick: str = "", published: int = 0) -> Run:
    """Read the options of a benchmark; ends with exit code 2 and one line where what it is to read is not there or unfit.

    Args:
        doc: Docstring of its module, shown by ``--help``.
        options: Its own options.
        quick: What ``--quick`` leaves out.
        published: Seed of the published figures, which ``--all`` takes.
    """
    run = Run()
    usual = (
        option("--quick", action="store_true", help=quick or "the same: it has no shorter form"),
        option("--seed", type=_seed, help="draws the groups and random numbers; week if none"),
        option("--all", action="store_true", help="every group, with the published random numbers"),
    )
    parse(doc, *options, *usual, into=run)
    if run.seed is None:
        run.seed = published if run.all else week(datetime.date.today())
    run.held_out, run.since = {}, time.process_time()
    sys.excepthook = _one_line
    print(f"seed {run.seed}{', every group' if run.all else ''}")
    return run


def parse(doc: str | None, *options: Option, into: argparse.Namespace | None = None) -> argparse.Namespace:
    """Read options alone, as a tool does; ends with exit code 2 and one line where a place is not there.

    Args:
        doc: Docstring of the module, shown by ``--help``.
        options: What it takes.
        into: What is given its values; new if none.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for one in options:
        parser.add_argument(*one.names, **one.told)  # type: ignore[arg-type]  # argparse checks them
    found = parser.parse_args(namespace=into)
    for one in options:
        long = next((name for name in one.names if name.startswith("--")), one.names[0])
        given = getattr(found, long.lstrip("-").replace("-", "_"), None) if one.is_place else None
        for path in given if isinstance(given, list) else [given]:
            if path is not None and not path.exists():
                refuse(f"{path} is not there ({one.names[0]}): name what exists")
    return found


def refuse(reason: str, code: int = 2) -> NoReturn:
    """End with one line on stderr."""
    sys.stderr.write(reason + "\n")
    raise SystemExit(code)


def _one_line(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A fault of what was read is a line of its own, any other a traceback."""
    if issubclass(kind, TuningError | OSError):
        refuse(str(error))
    sys.__excepthook__(kind, error, trace)


def week(day: datetime.date) -> int:
    """The ISO week of a day as a number: 202648 is week 48 of 2026."""
    year, number, _ = day.isocalendar()
    return 100 * year + number


def _seed(text: str) -> int:
    if text == "week":
        return week(datetime.date.today())
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is neither a whole number nor week")
    return int(text)


def json_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file of JSON Lines, packed or not; none where it is not there."""
    if not path.is_file():
        return
    with (
        gzip.open(path, "rt", encoding="utf-8")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8") as lines
    ):
        yield from (json.loads(line) for line in lines if line.strip())


def mean(values: Iterable[float], digits: int = 4) -> float | None:
    """The mean; None of nothing."""
    held = [float(value) for value in values]
    return round(math.fsum(held) / len(held), digits) if held else None


def share(hits: Sequence[bool | float], refused: int = 0) -> float | None:
    """Part of the questions that were hit, where refused ones count as misses; None without a question."""
    return mean([*map(float, hits), *[0.0] * refused])


def percentile(values: Iterable[float], part: float = 50, digits: int = 2) -> float | None:
    """A percentile by linear interpolation, the median unless ``part`` says which; None of nothing."""
    held = sorted(float(value) for value in values)
    if not held:
        return None
    at = part / 100 * (len(held) - 1)
    low = math.floor(at)
    high = min(low + 1, len(held) - 1)
    return round(held[low] + (at - low) * (held[high] - held[low]), digits)


def accuracy(logs: Sequence[float], errors: Sequence[float] | None = None) -> dict[str, Any]:
    """Errors by the logs of what is said over what was measured.

    ``median`` with its ``median_90`` by redrawing, and ``within_25``, per cent; ``bias`` is a factor.

    Args:
        logs: Of each.
        errors: In per cent, where they are not of what was measured.
    """
    errors = [100 * abs(math.expm1(one)) for one in logs] if errors is None else errors
    return {
        "n": len(logs), "median": percentile(errors, digits=1), "median_90": median_90(errors),
        "within_25": mean((one <= 25 for one in errors), 3),
        "bias": round(math.exp(np.median(logs)), 2) if len(logs) else None,
    }  # fmt: skip


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Correlation of ranks, equal values in the order in which they stand."""
    ranks = [np.argsort(np.argsort(values)).astype(float) for values in (one, other)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def median_90(values: Sequence[float]) -> list[float] | None:
    """Nine tenths of the medians of redrawn values; None of nothing."""
    if not values:
        return None
    drawn = np.random.default_rng(0).choice(values, (2000, len(values)))
    return [round(float(one), 1) for one in np.quantile(np.median(drawn, axis=1), (0.05, 0.95))]


def plain(value: object) -> object:
    """The same as JSON takes it: numbers of numpy as numbers, what is not finite as null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    if hasattr(value, "item") and hasattr(value, "dtype"):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def drawn_up(figures: object, path: str = "") -> Iterator[str]:
    """Figures for people: those that stand side by side on a line, behind the place where they stand."""
    inner = figures if isinstance(figures, dict) else {}
    if side := {name: value for name, value in inner.items() if not isinstance(value, dict)}:
        numbers = (f"{value:.4g}" if isinstance(value, float) else f"{value}" for value in side.values())
        yield f"{path or 'figures'}: " + ", ".join(map(" ".join, zip(side, numbers, strict=True)))
    for name, value in inner.items():
        yield from drawn_up(value, f"{path}/{name}".strip("/"))


def last_line(figures: Mapping[str, object]) -> None:
    """Print figures as one line of JSON."""
    sys.stdout.write(json.dumps(plain(figures), allow_nan=False) + "\n")
