"""Number formats by one name each, types of GGUF files among them."""

import pytest

from kg.terms.precisions import GGUF_BITS, canonical_precision, is_precision


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("Q4_K_M", "q4_k_m"), ("Q4_K", "q4_k_m"), ("UD-Q4_K_XL", "q4_k_m"), ("q3_k_l", "q3_k_l"),
        ("Q6_K", "q6_k"), ("Q8_K_XL", "q8_0"), ("IQ2_M", "iq2_m"), ("Q2_K_S", "q2_k_s"), ("q5_1", "q5_1"),
        ("torch.bfloat16", "bfloat16"),
    ],
)  # fmt: skip
def test_each_spelling_of_a_format_is_one(said: str, means: str) -> None:
    assert canonical_precision(said) == means
    assert is_precision(said)


@pytest.mark.parametrize("said", ["q4", "q9_k", "q4_k_q", "foo", "iq"])
def test_a_word_that_is_none_is_none(said: str) -> None:
    assert not is_precision(said)


def test_more_bits_of_one_kind_are_more() -> None:
    kept = [GGUF_BITS[name] for name in ("q2_k", "q3_k_m", "q4_k_m", "q5_k_m", "q6_k", "q8_0")]
    assert kept == sorted(kept)
    assert all(1 < bits < 9 for bits in GGUF_BITS.values())
