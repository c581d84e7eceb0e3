"""Answers before and after: the same, another model, or nobody can tell; by texts, and by how likely tokens are."""

import math

import pytest

from recommender.tune.quality import ServerAnswers, compare, spread

BEFORE = tuple(f"answer {number} goes on and on" for number in range(8))


def changed(count: int, text: str) -> tuple[str, ...]:
    return tuple(text if number < count else item for number, item in enumerate(BEFORE))


@pytest.mark.parametrize(
    ("after", "wavers", "state"),
    [
        (BEFORE, False, "same"),
        (BEFORE, True, "same"),
        (changed(8, "noise"), False, "fault"),
        (changed(5, "noise"), False, "fault"),
        (changed(4, "noise"), False, "unknown"),
        (changed(1, ""), False, "unknown"),
        (changed(8, "noise"), True, "unknown"),
        (tuple(f"answer {number} goes elsewhere" for number in range(8)), False, "unknown"),
    ],
)
def test_answers(after: tuple[str, ...], wavers: bool, state: str) -> None:
    found = compare(ServerAnswers(BEFORE), ServerAnswers(after), wavers=wavers)
    assert found.state == state
    assert found.is_fault == (state == "fault")


def told(*drops: float, taken: str = "yes", second: float = -2.0) -> ServerAnswers:
    """Eight answers of three tokens that were taken for likely at e**-1, less what is lost of each."""
    place = ({"yes": -1.0 - drop, "no": second} for drop in (drops * 8)[:8])
    rows = [dict(sorted(one.items(), key=lambda item: item[0] != taken)) for one in place]
    return ServerAnswers((taken * 3,) * 8, tuple((row,) * 3 for row in rows))


@pytest.mark.parametrize(
    ("after", "state", "distance"),
    [
        (told(0.001), "same", 0.001),  # as far as the script from itself
        (told(0.002, 0.001, 0.0, 0.0), "same", 0.00075),  # further in two of eight
        (told(0.02), "unknown", 0.02),  # of another number format: told, and left to the user
        (told(-0.02), "unknown", 0.02),
        (told(0.5, taken="no", second=-1.4), "unknown", 0.5),  # near ties, turned around
        (told(0.8), "fault", 0.8),  # half as likely
        (ServerAnswers(("no",) * 8, (({"no": -0.1, "none": -3.0},),) * 8), "fault", 2.0),
    ],
)
def test_likelihoods_beside_how_the_script_itself_wavers(
    after: ServerAnswers, state: str, distance: float
) -> None:
    before = told(0.0)
    wavering = spread(before.distances(told(0.001)))
    assert wavering == pytest.approx((0.001,) * 8)
    found = compare(before, after, wavers=False, wavering=wavering)
    assert found.state == state
    assert found.distance == pytest.approx(distance)
    assert f"{distance:.2g} nats apart, the script's own 0.001" in found.text


def test_what_follows_the_place_where_answers_part_is_not_compared() -> None:
    """Behind it they have read something else."""
    one = ServerAnswers(
        ("a b c",),
        (
            (
                {"a": -1.0, "x": -2.0},
                {"b": -1.0, "y": -1.1},
                {"c": -1.0},
            ),
        ),
    )
    other = ServerAnswers(
        ("a y z",),
        (
            (
                {"a": -1.0, "x": -2.0},
                {"y": -1.0, "b": -1.2},
                {"z": -9.0},
            ),
        ),
    )
    (found,) = one.distances(other)
    assert found == pytest.approx([0.0, 0.2])
    assert one.losses(other) == 0
    assert one.distances(ServerAnswers(("",))) == []


def test_where_one_tells_no_likelihoods_texts_decide() -> None:
    assert compare(told(0.0), ServerAnswers(("yesyesyes",) * 8), wavers=False).state == "same"
    assert compare(told(0.0), ServerAnswers(("other",) * 8), wavers=False).state == "fault"
    assert math.isclose(sum(spread(told(0.0).distances(told(0.25)))), 2.0)
