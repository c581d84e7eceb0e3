"""Shares of energy that is metered more than once."""

from dataclasses import replace

import pytest

from ingest.formats.meters.overlaps import uncounted_shares
from ingest.formats.meters.table import Knowledge, MeteredEnergy

HOUR = MeteredEnergy(part="gpu 0", energy_j=100.0, duration_s=3600.0, start_s=0.0, kind=Knowledge.MEASURED)


def test_of_a_window_that_another_overlaps_the_rest_counts() -> None:
    second = replace(HOUR, start_s=2700.0)
    assert uncounted_shares([HOUR, second]) == [1, pytest.approx(0.75)]
    first = replace(HOUR, start_s=-900.0, duration_s=1800.0)
    assert uncounted_shares([first, HOUR, second]) == [0.5, 1, pytest.approx(0.75)]


def test_all_devices_count_before_one_of_them() -> None:
    everything = replace(HOUR, part="gpu", duration_s=1800.0)
    assert uncounted_shares([HOUR, everything]) == [0.5, 1]


def test_other_devices_hosts_kinds_and_times_are_apart() -> None:
    apart = [
        HOUR,
        replace(HOUR, part="gpu 1"),
        replace(HOUR, part="gpu 0 of b"),
        replace(HOUR, kind=Knowledge.MODELLED),
        replace(HOUR, start_s=3600.0),
        replace(HOUR, part="cpu package-0"),
    ]
    assert uncounted_shares(apart) == [1] * 6


def test_the_same_log_twice_counts_once_without_times_too() -> None:
    bare = replace(HOUR, start_s=None)
    assert uncounted_shares([bare, bare, replace(bare, energy_j=99.0)]) == [1, 0, 1]
