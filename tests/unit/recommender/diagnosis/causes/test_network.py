"""The cause graph: strengths of its edges, no circles."""

from hypothesis import strategies as st

from recommender.diagnosis.causes.network import CauseNetwork

strengths = st.sampled_from([0.0, 0.2, 0.5, 0.8])


def test_outcomes_move_the_strength_of_an_edge(network: CauseNetwork) -> None:
    from kg.nouns.knowledge import Bottleneck, Cause
    from recommender.store.shipped_knowledge import knowledge

    nodes = [noun for noun in knowledge() if isinstance(noun, (Bottleneck, Cause))]
    edge = ("slow-rank", "collective-wait")
    taught = CauseNetwork.of(nodes, {edge: (0, 20)})

    def strength(of: CauseNetwork) -> float:
        return next(e.strength for e in of.causes(edge[1]) if e.cause == edge[0])

    assert strength(taught) < 0.3 < strength(network)


def test_the_shipped_network_has_no_circle(network: CauseNetwork) -> None:
    for node in network.labels:
        assert all(node not in network.above(edge.effect) for edge in network.effects(node))
