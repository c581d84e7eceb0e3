"""Energy that is metered twice: windows within windows, two logs of a device, a machine and its parts."""

from collections import defaultdict
from collections.abc import Sequence

from ingest.formats.meters.table import MeteredEnergy


def uncounted_shares(energies: Sequence[MeteredEnergy]) -> list[float]:
    """Share of each energy that none of the others of its kind has already, so that the shares add up.

    What covers more counts first: all devices before one of them, long windows before the short ones within
    them. Of a window that another overlaps in part, energy counts in proportion to the rest of its time.
    Energies without a beginning are taken as one after the other, unless they are of one device and equal.
    """
    shares = [1.0] * len(energies)
    counted: defaultdict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    equal: set[tuple[str, str, float, float]] = set()
    order = sorted(
        range(len(energies)), key=lambda at: (len(_device(energies[at])[1]), -energies[at].duration_s)
    )
    for at in order:
        energy = energies[at]
        host, words = _device(energy)
        if energy.start_s is None:
            mark = (str(energy.kind), energy.part, energy.energy_j, energy.duration_s)
            shares[at] = 0.0 if mark in equal else 1.0
            equal.add(mark)
            continue
        begin, end = energy.start_s, energy.start_s + energy.duration_s
        wider = (" ".join(words[: count + 1]) for count in range(len(words)))
        spans = sorted(span for name in wider for span in counted[f"{energy.kind} {host}", name])
        if energy.duration_s > 0:
            shares[at] = _outside(begin, end, spans) / energy.duration_s
        counted[f"{energy.kind} {host}", " ".join(words)].append((begin, end))
    return shares


def _device(energy: MeteredEnergy) -> tuple[str, tuple[str, ...]]:
    """Host and words of a part: ``gpu 0 of node1`` lies within ``gpu of node1``."""
    name, _, host = energy.part.partition(" of ")
    return host, tuple(name.split())


def _outside(begin: float, end: float, spans: Sequence[tuple[float, float]]) -> float:
    """Seconds of a time that lie in none of the spans, which are sorted."""
    free, place = 0.0, begin
    for first, last in spans:
        if first > place:
            free += min(first, end) - place
        place = max(place, last)
        if place >= end:
            return free
    return free + end - place
