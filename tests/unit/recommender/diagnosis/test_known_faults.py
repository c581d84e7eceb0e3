"""Codes of known faults in lines."""

from recommender.diagnosis.known_faults import KnownFaults


def test_a_word_of_codes_that_are_not_known_is_passed_over() -> None:
    assert KnownFaults(()).codes_in(b"NVRM: Xid (PCI:0000:41:00): 79, error code 507046\n") == {}
