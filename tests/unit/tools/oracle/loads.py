"""A small load, and an engine that takes all that waits into each step."""

from typing import Any, cast

from tools.oracle.engine_fleet import PlannedStep
from tools.oracle.serving_load import LoadRequest, ServingLoad, StepWork

BASE: dict[str, Any] = {
    "kind": "plain", "seed": 1, "requests": 20, "users": 1, "rate": 0.0, "input_len": 100, "output_len": 20,
    "spread": 0.0, "max_num_seqs": 8, "max_num_batched_tokens": 2048, "blocks": 200, "prefix_caching": 0,
    "prefix_share": 0.0, "prefix_groups": 0, "drafts": 0, "acceptance": (), "async_scheduling": 0,
    "engines": 1, "step_s": 0.01, "token_s": 1e-4, "context_s": 0.0, "pair_s": 0.0, "host_s": 0.002,
}  # fmt: skip


def load_of(**changes: object) -> ServingLoad:
    return ServingLoad(**BASE | changes)


class GreedyEngine:
    """An engine without limits: a step holds all prompts that wait and a token of each other request."""

    def __init__(self) -> None:
        self.preemptions = 0
        self._waiting: list[LoadRequest] = []
        self._left: dict[int, int] = {}

    def add(self, request: LoadRequest) -> None:
        self._waiting.append(request)

    def has_requests(self) -> bool:
        return bool(self._waiting or self._left)

    has_unfinished = has_requests

    def counts(self) -> tuple[int, int, float]:
        return len(self._waiting), len(self._left), 0.0

    def plan(self) -> PlannedStep:
        decodes = [index for index, left in self._left.items() if left > 0]
        fresh, self._waiting = self._waiting, []
        tokens = len(decodes) + sum(request.input_len for request in fresh)
        planned = [*decodes, *(request.index for request in fresh)]
        self._left |= {request.index: request.output_len for request in fresh}
        for index in planned:
            self._left[index] -= 1
        done = [index for index in planned if self._left[index] == 0]
        work = StepWork(tokens=tokens, decodes=len(decodes))
        return PlannedStep(work=work, handle=(planned, done))

    def finish(self, step: PlannedStep) -> list[tuple[int, int, bool]]:
        planned, done = cast("tuple[list[int], list[int]]", step.handle)
        for index in done:
            del self._left[index]
        return [(index, 1, index in done) for index in planned]
