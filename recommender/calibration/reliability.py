"""Reliability of each kind of evidence, by the distance of its hardware.

The shipped figures (``data/retrieval/reliability.json``) say where they come from; those of a workspace
replace them once enough of its own cases were used to check them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import data
from kg.triples.hardware_tree import Distance

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceTrust:
    """Trust in evidence from one distance class.

    Attributes:
        copied: Weight of a measured table of the same task.
        modelled: Weight of the response model answering for hardware at this distance.
        drift: Spread of how one parameter's effect differs from the source's hardware, in nats.
        low: 5 % quantile of (true minus expected) log gain.
        high: 95 % quantile of the same.
        checked: Problems that the quantiles rest on.
        devices: Devices that they rest on.
    """

    copied: float
    modelled: float
    drift: float
    low: float
    high: float
    checked: int = 0
    devices: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Trust by distance class.

    Attributes:
        classes: By how far the nearest hardware is.
        reach: Distance between tasks at which a source of another task counts half.
        origin: Where the figures come from.
    """

    classes: Mapping[Distance, DistanceTrust]
    reach: float
    origin: str

    @classmethod
    def shipped(cls) -> Self:
        """Return the figures of the package."""
        return cls.from_json(json.loads(data.text("retrieval/reliability.json")))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Return the figures of a workspace, or the shipped ones where it has none."""
        if not path.is_file():
            return cls.shipped()
        return cls.from_json(json.loads(path.read_text(encoding="utf-8")))

    @classmethod
    def from_json(cls, content: Mapping[str, object]) -> Self:
        """Return the figures that :meth:`to_json` gave."""
        classes, reach = content["classes"], content["reach"]
        if not isinstance(classes, dict) or not isinstance(reach, int | float):
            raise TypeError("reliability: classes is an object and reach a number")
        return cls(
            classes={Distance[name.upper()]: DistanceTrust(**figures) for name, figures in classes.items()},
            reach=float(reach),
            origin=str(content["origin"]),
        )

    def to_json(self) -> dict[str, object]:
        """Return the figures as a JSON object."""
        return {
            "classes": {
                distance.name.lower(): {
                    name: getattr(trust, name)
                    for name in ("copied", "modelled", "drift", "low", "high", "checked", "devices")
                }
                for distance, trust in self.classes.items()
            },
            "reach": self.reach,
            "origin": self.origin,
        }
