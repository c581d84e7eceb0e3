"""Published thresholds as soft likelihoods: sources disagree, so none of them is a cut."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ingest.profiles.facts.kernels import Floats
from kg.nouns.knowledge import Bottleneck, Symptom

STEEPNESS = 2.0
"""Logistic units per softness. Softness is how far published numbers lie apart, so a reading that far beyond
the threshold is taken for the symptom with odds of e**2, about seven to one."""

SIGNIFICANT_SHARE = 0.05
"""Share of the step from which a finding is called significant: the high mark of msprof-analyze, whose medium
mark is 0.03; between the two lies the doubt."""

MEDIUM_SHARE = 0.03


class Thresholds:
    """The thresholds of the graph, by pattern and metric."""

    def __init__(self, symptoms: Iterable[tuple[str, Symptom]]) -> None:
        self._by: dict[tuple[str, str], list[Symptom]] = {}
        for pattern, symptom in symptoms:
            self._by.setdefault((pattern, symptom.metric), []).append(symptom)

    @classmethod
    def of(cls, patterns: Iterable[Bottleneck]) -> Thresholds:
        """The thresholds of some patterns."""
        return cls((pattern.id, symptom) for pattern in patterns for symptom in pattern.symptoms)

    def has(self, pattern: str, metric: str) -> bool:
        """True if the graph has a threshold: a workspace made with older knowledge may lack one."""
        return (pattern, metric) in self._by

    def shows(self, pattern: str, metric: str, value: Floats | float) -> Floats:
        """Degree to which each value of a metric shows a pattern, 0 to 1: the mean over published thresholds.

        A claim (a source that nobody can open) counts only where there is nothing else. A value that was not
        collected (nan) shows nothing.

        Raises:
            KeyError: The graph has no threshold of the metric for the pattern.
        """
        degrees = self._degrees(pattern, metric, value)
        return np.asarray(np.nan_to_num(np.sum(degrees, axis=0) / len(degrees)), dtype=np.float64)

    def _degrees(self, pattern: str, metric: str, value: Floats | float) -> list[Floats]:
        x = np.asarray(value, dtype=np.float64)
        stated = self._by[pattern, metric]
        sourced = [symptom for symptom in stated if symptom.source.url] or stated
        return [soft(x, s.threshold, s.softness, below=s.comparator == "below") for s in sourced]


def soft(x: Floats, threshold: float, softness: float, *, below: bool = False) -> Floats:
    """Logistic step: one half at the threshold; nan stays nan."""
    sign = -1.0 if below else 1.0
    z = np.clip(sign * STEEPNESS * (x - threshold) / softness, -50, 50)
    return np.asarray(1 / (1 + np.exp(-z)), dtype=np.float64)


def significance(share: float, least: float = SIGNIFICANT_SHARE) -> float:
    """Significance of a share of the step, 0 to 1: one half between the medium and the high mark."""
    medium = least * MEDIUM_SHARE / SIGNIFICANT_SHARE
    return float(soft(np.asarray(share), (least + medium) / 2, (least - medium) / 2))
