"""Purposes of settings."""

import pytest

from kg.terms.purposes import Purpose, plain_key, purpose


@pytest.mark.parametrize("spelling", ["--Max-Model-Len", "max_model_len", " -max-model_len"])
def test_all_spellings_of_a_key_are_one(spelling: str) -> None:
    assert plain_key(spelling) == "max_model_len"


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("--tensor-parallel-size", Purpose.LAYOUT),
        ("tensor_parallel_size", Purpose.LAYOUT),
        ("--num-layers", Purpose.MODEL),
        ("--rotary-base", Purpose.MODEL),
        ("--max-num-seqs", Purpose.TUNING),
        ("--enable-metrics", Purpose.SITE),
        ("a_key_that_nobody_has", Purpose.TUNING),
        ("megatron_training.use_fused_rmsnorm", Purpose.TUNING),
    ],
)
def test_a_key_has_the_purpose_of_the_first_pattern_that_it_fits(key: str, kind: Purpose) -> None:
    assert purpose(key) is kind


def test_a_pattern_is_for_the_whole_key() -> None:
    assert purpose("tp") is Purpose.LAYOUT
    assert purpose("tps") is Purpose.TUNING
