"""A published row as the cost model is asked about it, and what of its settings can be."""

import re
from dataclasses import dataclass

import numpy as np

from kg.errors import InputError
from kg.terms.model_name import read_name
from recommender.cost_model.estimate import estimate
from recommender.cost_model.facts.device import precision
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.machine import Machine


@dataclass(frozen=True, slots=True)
class PublishedQuestion:
    """A published row as the cost model is asked about it.

    Attributes:
        row: The row.
        model: Its model.
        machine: Its devices.
        phase: ``training`` or ``serving``.
        settings: Every setting that the row leaves open; the fastest that fits is meant.
        quantity: Which result the row's value is (:func:`target`).
        shares: Among how many devices or cards the value is divided: 1 for a value of all of them.
        value: What was measured; a share of the peak as tokens per second.
        engine: Engine or framework as people write it, without its version.
        version: Its version; empty if not stated.
    """

    row: dict[str, str]
    model: ModelSizes
    machine: Machine
    phase: str
    settings: list[dict[str, object]]
    quantity: str
    shares: float
    value: float
    engine: str
    version: str

    @property
    def family(self) -> str:
        """Kind of model and phase, as figures are listed."""
        return f"{self.row['family'].split('/')[0]}, {self.phase}"

    @property
    def is_language_model(self) -> bool:
        """True if the row is one of a language model, dense or with experts."""
        return self.row["family"].startswith("LLM")


def engine_of(row: dict[str, str]) -> tuple[str, str]:
    """Engine that a row names, and its version; empty where it states none."""
    words = row["framework"].split()
    if not words:
        return "", ""
    version = next((word for word in words[1:] if word == "nightly" or re.match(r"v?\d", word)), "")
    return words[0].lower(), version


def possible(
    model: ModelSizes, where: Machine, phase: str, settings: list[dict[str, object]]
) -> tuple[list[dict[str, object]], str]:
    """The settings that can be and fit, of each layout the largest batch, and why the last other cannot."""
    valid: list[dict[str, object]] = []
    reason = "does not fit in memory as far as it is described"
    filled: set[str] = set()
    for one in settings:
        layout = repr({name: value for name, value in one.items() if name != "batch"})
        if layout in filled:  # an engine lets in all that its cache holds
            continue
        try:
            steps = estimate(model=model, machine=where, phase=phase, settings=[one])
        except InputError as refused:
            reason = str(refused)
            continue
        if steps.fits[0] or not np.isfinite(steps.capacity_bytes):
            valid.append(one)
            filled |= {layout} if "batch" in one else set()
    return valid, reason


def down_from(most: int) -> list[int]:
    """Batches down from the largest, each a fifth below the last: an engine lets in all that its cache holds."""
    found = [most]
    while found[-1] > 1:
        found.append(found[-1] * 5 // 6)
    return found


def priced_format(text: str) -> str:
    """The number format that some words state, by the cost model's name; empty if they state none it prices."""
    form = read_name(text).weights
    try:
        return precision(form) if form else ""
    except InputError:
        return ""
