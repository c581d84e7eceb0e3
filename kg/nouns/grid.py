"""Regions of electricity grids, and how clean their electricity is through the day."""

import math
from dataclasses import dataclass

from kg.nouns.entities import Source
from kg.nouns.knowledge import Concept


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRegion(Concept):
    """A part of an electricity grid whose carbon intensity is reported as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GreenSchedule:
    """The carbon intensity of a region's electricity in a window of the day.

    Attributes:
        region: Id of the grid region.
        start_hour: First hour of the window, local time, 0 to 23.
        end_hour: Hour at which it ends, 1 to 24, after ``start_hour``.
        carbon_intensity_g_per_kwh: Mean emission in the window, gram CO2 equivalent per kWh.
        source: Its origin.
    """

    region: str
    start_hour: int
    end_hour: int
    carbon_intensity_g_per_kwh: float
    source: Source

    def __post_init__(self) -> None:
        """Refuse a window that is none and an intensity that no grid has."""
        if not 0 <= self.start_hour < self.end_hour <= 24:
            raise ValueError(f"{self.region}: no window from {self.start_hour} to {self.end_hour} o'clock")
        if not (math.isfinite(self.carbon_intensity_g_per_kwh) and self.carbon_intensity_g_per_kwh >= 0):
            raise ValueError(f"{self.region}: {self.carbon_intensity_g_per_kwh} g/kWh")

    @property
    def id(self) -> str:
        """Identifier: region and window."""
        return f"{self.region}-{self.start_hour:02d}-{self.end_hour:02d}"
