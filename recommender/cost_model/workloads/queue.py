"""The queue before a replica of an engine: requests come at random, take a slot each, are prefilled in turn.

Sources: Sakasegawa, An approximation formula L_q = a p^b / (1 - p), Annals of the Institute of Statistical
Mathematics 29, 1977, halved because requests take equally long (with one slot that is Pollaczek
and Khinchine's formula). Tails are taken as exponential.
"""

import numpy as np

from recommender.cost_model.facts.physics import Floats

Number = Floats | float


def waiting_s(load: Number, turn_s: Number, slots: Number, prefill_s: Number) -> Floats:
    """Mean wait of a request: for a slot, then for the prefills of others.

    Args:
        load: Requests that come over those that can be answered.
        turn_s: Seconds from one answer to the next where all slots are taken.
        slots: Requests that a replica works on at once.
        prefill_s: Seconds of a prefill.
    """
    parts = _waits(load, turn_s, slots, prefill_s)
    return np.asarray(sum(chance * wait for chance, wait in parts))


def longest_waiting_s(
    load: Number, turn_s: Number, slots: Number, prefill_s: Number, share: float = 0.99
) -> Floats:
    """Wait that a share of the requests stays within; the other arguments as for :func:`waiting_s`."""
    parts, beyond = _waits(load, turn_s, slots, prefill_s), 1 - share
    return np.asarray(
        sum(
            np.where(chance > beyond, wait, 0.0) * np.log(np.maximum(chance / beyond, 1.0))
            for chance, wait in parts
        )
    )


def _waits(load: Number, turn_s: Number, slots: Number, prefill_s: Number) -> list[tuple[Floats, Floats]]:
    """Chance of each kind of wait, and its mean where it comes: none where the chance is none."""
    busy, prefilling = _chances(load, turn_s, slots, prefill_s)
    waits = (_mean_s(load, turn_s), _mean_s(_share(load, turn_s, prefill_s), prefill_s))
    return [
        (chance, np.where(chance > 0, wait, 0.0))
        for chance, wait in zip((busy, prefilling), waits, strict=True)
    ]


def _chances(load: Number, turn_s: Number, slots: Number, prefill_s: Number) -> tuple[Floats, Floats]:
    """Chance that no slot is free, and that another request of the replica is being prefilled."""
    known, many = np.minimum(load, 1.0), np.maximum(slots, 1.0)
    busy = np.power(known, np.sqrt(2 * (many + 1)) - 1)
    return np.asarray(busy), np.asarray(_share(load, turn_s, prefill_s) * (1 - 1 / many))


def _share(load: Number, turn_s: Number, prefill_s: Number) -> Floats:
    """Share of the time that a replica prefills."""
    return np.minimum(load, 1.0) * np.minimum(np.asarray(prefill_s) / turn_s, 1.0)


def _mean_s(load: Number, turn_s: Number) -> Floats:
    """Mean wait of those that wait."""
    free = np.maximum(2 * (1 - np.asarray(load)), 1e-9)
    return np.where(np.asarray(load) < 1, turn_s / free, np.inf)
