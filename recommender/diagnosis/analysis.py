"""All analysers over all ranks: for each node of the graph the strongest evidence that the profile has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recommender.diagnosis import chains, host, operators, peers, pipes, transfers
from recommender.diagnosis.evidence import View
from recommender.diagnosis.thresholds import SIGNIFICANT_SHARE, significance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingest.profiles.facts import Profile
    from recommender.diagnosis.evidence import Evidence
    from recommender.diagnosis.thresholds import Thresholds

ANALYSERS = (pipes.find, operators.find, chains.find, host.find, transfers.find)

SAME_LEVEL = 0.01
"""Share by which a property may differ between two runs of one job and be the same: warm-up, a last batch."""

ABSENT = 0.5
"""Least ratio of evidence against a pattern: a loss that is there may stay below the mark in a long step."""

DOUBT = 0.01
"""Chance that a reading says the opposite of what is: no ratio is above 101 to 1 on one reading's word."""


def analyse(profile: Profile, thresholds: Thresholds) -> dict[str, Evidence]:
    """The strongest evidence for each node; a node that nothing could show is absent: not collected."""
    views = [View(rank) for rank in profile.ranks]
    found: dict[str, Evidence] = {}
    for item in _all(views, thresholds):
        before = found.get(item.node)
        if before is None or (item.shown * item.share, item.shown) > (
            before.shown * before.share,
            before.shown,
        ):
            found[item.node] = item
    return found


def _all(views: list[View], thresholds: Thresholds) -> Iterator[Evidence]:
    highest = max((operators.highest_mhz(view) for view in views), default=0.0)
    for view in views:
        view.peer_mhz = highest
    for view in views:
        for find in ANALYSERS:
            yield from find(view, thresholds)
    yield from peers.find(views, thresholds)


def detected(item: Evidence, least: float = SIGNIFICANT_SHARE) -> float:
    """How far a pattern is there and matters, 0 to 1."""
    return item.shown if item.is_setting else item.shown * significance(item.share, least)


def ratio(item: Evidence, least: float = SIGNIFICANT_SHARE) -> float:
    """Likelihood ratio of the evidence: of the pattern being there over its not being there."""
    there = detected(item, least)
    return max(ABSENT, (DOUBT + there) / (DOUBT + 1 - there))


def ratios(found: Mapping[str, Evidence], least: float = SIGNIFICANT_SHARE) -> dict[str, float]:
    """Likelihood ratio by node."""
    return {node: ratio(item, least) for node, item in found.items()}


def grown(after: Mapping[str, Evidence], before: Mapping[str, Evidence]) -> dict[str, Evidence]:
    """What a later profile shows beyond an earlier one: each cost less what it cost before.

    A setting that was there before explains nothing that is new.
    """
    found = {}
    for node, item in after.items():
        old = before.get(node)
        if old is None:
            found[node] = item
        elif item.is_setting:
            if item.shown > old.shown + SAME_LEVEL:
                found[node] = item
        else:
            more = max(0.0, item.lost_us - old.lost_us)
            if (
                item.level is not None
                and old.level is not None
                and item.level <= old.level * (1 + SAME_LEVEL)
            ):
                more = 0.0
            part = more / item.lost_us if item.lost_us > 0 else 0.0
            found[node] = replace(item, lost_us=more, share=item.share * part)
    return found
