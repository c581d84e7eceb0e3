"""Part of a step that a change can act on, by which unmeasured changes are ordered."""

from kg.nouns.knowledge import Strategy
from kg.triples.finders import broader
from kg.triples.graph import GraphStore
from recommender.cost_model.priced_step import PricedStep

PARTS = {
    "compute": ("compute",),
    "memory": ("memory",),
    "communication": ("communication_exposed", "bubble"),
    "synchronisation": ("synchronisation",),
    "scheduling": ("scheduling", "host"),
    "data-loading": ("data_loading",),
}
"""Parts of the cost model's split by the bottleneck at the root of the graph. Without a split the first comes
first: the order in which experts work."""
CAPACITY = "memory-capacity"
"""Strategies for this bottleneck free memory, and take no time away."""
_MAKING_ROOM = (CAPACITY, "kv-block-shortage")
"""Strategies for these let in more requests: their gain is no part of a step."""


class Reach:
    """The share of a step's time that strategies can act on.

    Args:
        graph: Knows which bottleneck is a kind of which.
        price: The price of the start; None if it has none.
    """

    def __init__(self, graph: GraphStore, price: PricedStep | None) -> None:
        self._graph = graph
        self._roots: dict[str, str] = {}
        self._shares = _shares(price)
        self._prefill: float | None = None
        if price is not None and not price.results.get("kv_transfer_s"):
            self._prefill = price.result("prefill_share")

    def of(self, strategy: Strategy) -> float:
        """The largest share of a bottleneck that it is for, 0 to 1."""
        roots = {self._root(item.target) for item in strategy.mitigates if item.target}
        return max((self._shares.get(root, 0.0) for root in roots), default=0.0)

    def untouched(self, strategy: Strategy) -> float:
        """The share of a server's time that a strategy for one phase leaves to the other, 0 to 1.

        0 where prefill and decode have engines of their own, and of what makes room for more requests.
        """
        phases = {str(phase) for phase in strategy.phases}
        if self._prefill is None or any(item.target in _MAKING_ROOM for item in strategy.mitigates):
            return 0.0
        left = {"decode": self._prefill, "prefill": 1 - self._prefill}
        return left.get(phases.pop(), 0.0) if len(phases) == 1 else 0.0

    def _root(self, name: str) -> str:
        if name not in self._roots:
            above = next(iter(broader(self._graph, name)), "")
            self._roots[name] = name if name == CAPACITY or not above else self._root(above)
        return self._roots[name]


def _shares(price: PricedStep | None) -> dict[str, float]:
    if price is not None:
        spent = {name: part / price.results["step_time_s"] for name, part in price.split_s.items()}
        return {root: sum(spent.get(part, 0.0) for part in parts) for root, parts in PARTS.items()}
    return {root: (len(PARTS) - place) / 100 for place, root in enumerate(PARTS)}
