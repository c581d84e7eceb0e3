"""Which single source an expected gain rests on most."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kg.nouns.entities import Source
from kg.nouns.gain import Gain
from recommender.ranking.change import SourceInfluence


def most_influential(
    gain: Gain, sources: Mapping[str, Source], without: Callable[[str], Gain]
) -> SourceInfluence | None:
    """The source without which the expected gain would change most; None where there is none.

    An effect that several sources speak for goes with each of them, so that is the most that a source can do.

    Args:
        gain: The expected gain.
        sources: Those it rests on, by id.
        without: The gain to expect without all that a source speaks for.
    """
    left = {name: without(name) for name in sources}
    if not left:
        return None
    name = max(sorted(left), key=lambda name: abs(gain.expected - left[name].expected))
    source = sources[name]
    return SourceInfluence(
        source=" ".join(part for part in (source.title, source.url) if part),
        gain=left[name],
        moved=gain.expected - left[name].expected,
    )
