"""What the loop runs under: settings of the engines, requests, and the time of a step. Seconds and tokens."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BLOCK = 16
"""Tokens of a block of the cache: the default of vLLM."""


class LoopStepTime(Protocol):
    """The time of steps that hold so many tokens, cached tokens attended to, and pairs that are prefilled."""

    def __call__(self, tokens: float, context: Floats, pairs: float) -> Floats:
        """Seconds for each of ``context``."""


class LoopRequest(Protocol):
    """A request: when it comes, its lengths, and what it shares with its group."""

    @property
    def gap(self) -> float:
        """Seconds after the request before it, where they come at a rate."""

    @property
    def input_len(self) -> int:
        """Tokens of the prompt."""

    @property
    def output_len(self) -> int:
        """Tokens of the answer."""

    @property
    def shared(self) -> int:
        """First tokens of the prompt that others of its group have, too."""

    @property
    def group(self) -> int:
        """Which shared part that is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """Engines and their load.

    Attributes:
        users: Requests in flight, each followed by the next; 0 where they come at their gaps.
        warm: Requests that go before the measured ones.
        measured: Requests that are measured.
        seats: Requests that an engine works on at once.
        room: Tokens of a step.
        blocks: Blocks of the cache of an engine.
        prefix_caching: Whether blocks are found again by their content.
        acceptance: Chance of a draft after accepted ones, by position; empty without drafts.
        async_scheduling: Whether a step is scheduled while the one before runs.
        engines: Data-parallel engines.
        lockstep: Whether they wait for one another in each step.
        host_s: Time to schedule a step.
        seed: Of the accepted drafts.
    """

    users: int
    warm: int
    measured: int
    seats: int
    room: int
    blocks: int
    prefix_caching: bool = False
    acceptance: tuple[float, ...] = ()
    async_scheduling: bool = False
    engines: int = 1
    lockstep: bool = False
    host_s: float = 0.0
    seed: int = 0
