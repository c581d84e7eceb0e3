"""Frameworks: the programs that models run in, and the software below them."""

from dataclasses import dataclass

from kg.nouns.entities import Source
from kg.nouns.knowledge import Concept


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework(Concept):
    """A program that people run models with, or build kernels with.

    Attributes:
        phases: Phases that it serves.
        hardware: Nodes of the hardware tree that it runs on.
        stack: Software below it whose settings it passes on: libraries, drivers, the host.
        sources: The documents that state it.
    """

    phases: tuple[str, ...]
    hardware: tuple[str, ...]
    stack: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()

    @property
    def is_server(self) -> bool:
        """True if it serves models with code of its own, and trains none."""
        return not set(self.phases) & {"training", "kernel"}

    @property
    def only_trains(self) -> bool:
        """True if it trains models and serves none."""
        return set(self.phases) == {"training"}

    def reads(self, software: str) -> bool:
        """True if settings of a software mean something where this framework runs."""
        return software == self.id or software in self.stack
