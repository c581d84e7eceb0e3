"""The environment of a measurement."""

from recommender.measuring.environment import THIS_PROCESSOR, capture, here


def test_this_processor_is_named_and_other_hardware_is_left_as_it_is() -> None:
    named = here(THIS_PROCESSOR)
    assert named == capture({})["processor"]
    assert here("910B3") == "910B3"
    assert here("this chip") == "this chip"
