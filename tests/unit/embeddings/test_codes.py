import numpy as np

from embeddings.codes import name_code, split


def test_names_that_share_words_are_nearer() -> None:
    gemm, scaled, copy = (name_code(name, 16) for name in ("gemm", "gemm_a8w8", "transpose"))
    assert np.linalg.norm(gemm - scaled) < np.linalg.norm(gemm - copy)
    assert np.linalg.norm(gemm - scaled) > 0


def test_words_part_at_punctuation_in_any_script() -> None:
    assert split("gemm_A8W8.cuda") == ["gemm", "a8w8", "cuda"]
    assert split("昇腾 910B") == ["昇腾", "910b"]
