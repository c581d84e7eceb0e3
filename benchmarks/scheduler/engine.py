"""The scheduler of one engine, as that of vLLM 0.32: what a step holds, and who loses its blocks.

First come, first served; running requests before waiting ones; a prompt is cut where the step is full; the
last request to come gives its blocks back where they run out. Steps that differ in the length of the cache
alone are planned together.
"""

import random
from collections import deque
from dataclasses import dataclass, field

from benchmarks.scheduler.load import BLOCK, LoopRequest, LoopSettings
from kg.errors import InputError

ENDLESS = 1 << 30


@dataclass(slots=True, eq=False, kw_only=True)
class LoopSequence:
    """A request on its way.

    Attributes:
        request: The request.
        sent: When it came.
        engine: Who serves it.
        target: Tokens up to which it is prefilled, again after it lost its blocks.
        left: Tokens of its answer that are to come.
        reached: Tokens that are scheduled.
        flying: Steps that run with a token of it.
        blocks: Blocks of its own.
        first: When its first token came; 0 before.
        last: When its last token so far came.
    """

    request: LoopRequest
    sent: float
    engine: int
    target: int
    left: int
    reached: int = 0
    flying: int = 0
    blocks: int = 0
    first: float = 0.0
    last: float = 0.0

    @property
    def is_prefilled(self) -> bool:
        """Whether it decodes."""
        return self.reached >= self.target


@dataclass(slots=True)
class LoopPlan:
    """A step, or several that differ in their context alone.

    Attributes:
        tokens: Tokens of each step.
        context: Cached tokens that the first one attends to.
        pairs: Pairs of tokens that are prefilled.
        decodes: Sequences that decode.
        sequences: Those that get a token.
        steps: How many steps it stands for at most.
    """

    tokens: int = 0
    context: int = 0
    pairs: float = 0.0
    decodes: int = 0
    sequences: list[LoopSequence] = field(default_factory=list)
    steps: int = 1


@dataclass(slots=True)
class _FreeRun:
    """Free blocks that follow one another in the order of use, and who had them."""

    owner: LoopSequence | None
    count: int


class FreeBlocks:
    """Free blocks in the order in which they are taken, longest free first.

    Attributes:
        count: How many there are.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._runs = deque([_FreeRun(None, count)])

    def take(self, count: int) -> None:
        """Take so many."""
        self.count -= count
        while count:
            head = self._runs[0]
            taken = min(count, head.count)
            head.count -= taken
            count -= taken
            if not head.count:
                self._runs.popleft()

    def give(self, owner: LoopSequence | None, count: int) -> None:
        """Give blocks back; an owner may claim what nobody has taken until then."""
        self.count += count
        if count:
            self._runs.append(_FreeRun(owner, count))

    def held(self, owner: LoopSequence) -> int:
        """Blocks of an owner that nobody took."""
        return sum(run.count for run in self._runs if run.owner is owner)

    def claim(self, owner: LoopSequence) -> int:
        """Take them."""
        count = self.held(owner)
        self.count -= count
        self._runs = deque(run for run in self._runs if run.owner is not owner)
        return count


class LoopEngine:
    """The scheduler of one engine.

    Attributes:
        inbox: Requests that came since the last plan.
        waiting: Requests that wait, next one first.
        running: Requests that are worked on, in the order in which they came.
        preemptions: How often one lost its blocks.
    """

    def __init__(self, settings: LoopSettings) -> None:
        self.inbox: list[LoopSequence] = []
        self.waiting: deque[LoopSequence] = deque()
        self.running: list[LoopSequence] = []
        self.preemptions = 0
        self._settings = settings
        self._drafts = len(settings.acceptance)
        self._free = FreeBlocks(settings.blocks - 1)  # vLLM keeps one as a placeholder
        self._groups: set[int] = set()

    @property
    def has_work(self) -> bool:
        """Whether any request is not answered."""
        return bool(self.inbox or self.waiting or self.running)

    @property
    def score(self) -> tuple[int, float]:
        """Requests, and the penalty of those that wait where the cache is more than half full."""
        usage = 1 - self._free.count / max(self._settings.blocks - 1, 1)
        return len(self.waiting) + len(self.running), len(self.waiting) * 6.0 * max(0.0, usage - 0.5)

    def plan(self) -> LoopPlan:
        """Schedule a step, and as many after it as differ in nothing but their context."""
        self.waiting += self.inbox
        self.inbox.clear()
        plan, room = LoopPlan(), self._settings.room
        at, ends, is_mixed, is_short = 0, ENDLESS, False, False
        while at < len(self.running) and room > 0:
            one = self.running[at]
            at += 1
            if one.is_prefilled and one.left <= one.flying:  # what runs will end it
                ends = 1
                continue
            wanted = min(1 + self._drafts if one.is_prefilled else one.target - one.reached, room)
            is_mixed |= not one.is_prefilled
            many = len(self.running)
            is_kept = self._make_room(one, one.reached + wanted)
            is_short |= len(self.running) < many
            if not is_kept:
                break
            room -= wanted
            ends = min(ends, one.left - one.flying)
            self._schedule(plan, one, wanted)
        while not is_short and self._admits(room):
            one = self.waiting.popleft()
            self.running.append(one)
            wanted = min(one.target - one.reached, room)
            self._take(one, one.reached + wanted)
            is_mixed, room = True, room - wanted
            self._schedule(plan, one, wanted)
        if plan.decodes and not (is_mixed or is_short or self._drafts):
            plan.steps = max(1, min(ends, BLOCK * (self._free.count // plan.decodes)))
        return plan

    def advance(self, plan: LoopPlan, steps: int) -> None:
        """Account for steps of a plan beyond its first."""
        for one in plan.sequences if steps else ():
            one.reached += steps
            one.target = one.reached
            self._take(one, one.reached)

    def settle(
        self, plan: LoopPlan, steps: int, now: float, numbers: random.Random, *, flies: bool
    ) -> tuple[int, list[LoopSequence]]:
        """Write down the tokens of steps that have run: how many there were, which requests are answered.

        Args:
            plan: What ran.
            steps: How many of its steps.
            now: When the last of them ended.
            numbers: Draws accepted drafts.
            flies: Whether a further one of its steps runs.
        """
        produced, done = 0, list[LoopSequence]()
        for one in plan.sequences:
            one.flying -= not flies
            if one.left <= 0:
                continue
            kept = self._accepted(numbers) if one.first else 0
            if self._drafts and one.first and one.reached:
                one.reached = one.target = one.reached - (self._drafts - kept)
            gained = min(one.left, steps + kept)
            one.first, one.last = one.first or now, now
            one.left -= gained
            produced += gained
            if one.left <= 0:
                done.append(one)
        for one in done:
            (self.running if one in self.running else self.waiting).remove(one)
            self._free.give(None, one.blocks)
            one.blocks = 0
        return produced, done

    def _schedule(self, plan: LoopPlan, one: LoopSequence, wanted: int) -> None:
        """Give a sequence tokens of a step."""
        decodes = one.is_prefilled
        one.reached += wanted
        plan.tokens += wanted
        plan.context += one.reached
        if decodes:
            plan.decodes += 1
            one.target = one.reached
        else:
            plan.pairs += wanted * (one.reached - wanted / 2)
        if one.is_prefilled:
            one.flying += 1
            plan.sequences.append(one)

    def _accepted(self, numbers: random.Random) -> int:
        """Drafts that are accepted, one after the other."""
        for place, chance in enumerate(self._settings.acceptance):
            if numbers.random() >= chance:
                return place
        return self._drafts

    def _admits(self, room: int) -> bool:
        """Whether the next waiting request comes in; what is known of its prompt is then its own."""
        if not self.waiting or room <= 0 or len(self.running) >= self._settings.seats:
            return False
        one = self.waiting[0]
        if one.flying:  # what it had in flight is not settled
            return False
        found = own = 0
        if self._settings.prefix_caching:
            own = self._free.held(one)
            shared = one.request.shared // BLOCK if one.request.group in self._groups else 0
            found = min(max(shared, own), (one.target - 1) // BLOCK)
        if blocks_of(one.target) - found > self._free.count - min(own, found):
            if not self.running:
                raise InputError(f"blocks: {self._settings.blocks} do not hold {one.target} tokens")
            return False
        one.blocks = min(self._free.claim(one), found) if own else 0
        one.reached = found * BLOCK
        self._groups.add(one.request.group)
        return True

    def _take(self, one: LoopSequence, tokens: int) -> None:
        """Take the blocks that a sequence needs for so many tokens."""
        needed = self._needed(one, tokens)
        if needed > 0:
            self._free.take(needed)
            one.blocks += needed

    def _needed(self, one: LoopSequence, tokens: int) -> int:
        """Blocks beyond its own and those that its group holds once."""
        shared = one.request.shared // BLOCK if self._settings.prefix_caching else 0
        return blocks_of(tokens) - shared - one.blocks

    def _make_room(self, one: LoopSequence, tokens: int) -> bool:
        """Take blocks, from the last request to come where none are free; false where it is this one."""
        while self._needed(one, tokens) > self._free.count:
            last = self.running.pop()
            self.preemptions += 1
            self._free.give(last, last.blocks)
            last.blocks = last.reached = 0
            last.target = last.request.input_len + last.request.output_len - last.left + last.flying
            self.waiting.appendleft(last)
            if last is one:
                return False
        self._take(one, tokens)
        return True


def blocks_of(tokens: int) -> int:
    """Blocks that hold so many tokens."""
    return -(-tokens // BLOCK)
