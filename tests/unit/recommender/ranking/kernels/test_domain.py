"""Domains: nothing that cannot fit is in one, and what is set now is judged by the same rules."""

import numpy as np
import pytest

from kg.errors import InfeasibleError, InputError
from recommender.ranking.kernels.domain import declared_domain, generated_domain
from recommender.space.space_file import read_space
from tests.unit.recommender.ranking.kernel_questions import question


def test_every_configuration_keeps_the_limits_of_the_chip() -> None:
    columns = generated_domain(question(npu=True, language="ascend-c")).columns
    m, n, k = columns["baseM"], columns["baseN"], columns["baseK"]
    assert (columns["dbL0C"] * m * n * 4 <= 131072).all()
    assert (columns["dbL0A"] * m * k * 2 <= 65536).all()
    assert (columns["dbL0B"] * k * n * 2 <= 65536).all()
    assert columns["usedCoreNum"].max() == 20
    assert (m * n == 32768).any()


def test_a_row_is_a_configuration_with_typed_values() -> None:
    domain = generated_domain(question(npu=True, language="triton"))
    one = domain.configuration(0)
    assert isinstance(one["multibuffer"], bool)
    assert all(isinstance(value, int) for value in one.values())
    assert set(one) == {"BLOCK_M", "BLOCK_N", "BLOCK_K", "multibuffer", "BLOCK_TRESHHOLD", "grid"}


def test_rows_with_values_have_them() -> None:
    domain = generated_domain(question())
    rows = np.flatnonzero(domain.rows_with({"BLOCK_SIZE_M": 128, "num_warps": 8, "another": 1}))
    assert len(rows)
    for row in rows[:: len(rows) // 5]:
        assert {"BLOCK_SIZE_M": 128, "num_warps": 8}.items() <= domain.configuration(int(row)).items()


def test_what_cannot_fit_whatever_else_is_set_is_named_with_both_sides() -> None:
    domain = generated_domain(question(npu=True, language="ascend-c"))
    broken = domain.broken({"baseM": 256, "baseN": 256, "baseK": 128})
    assert [item.reason for item in broken] == ["baseM=256, baseN=256: 262144 > 131072"]
    assert "L0C" in broken[0].rule
    assert broken[0].source.startswith("https://")
    assert domain.broken({"baseM": 128, "baseN": 256}) == ()
    assert [item.rule for item in domain.broken({"usedCoreNum": 64})] == ["the device has 20 cube cores"]
    assert domain.broken({"baseM": 100})[0].reason == "baseM=100: baseM % 16 == 0 does not hold"


def test_a_rule_is_broken_only_if_no_value_of_the_others_keeps_it() -> None:
    domain = generated_domain(question())
    assert domain.broken({"BLOCK_SIZE_M": 256, "BLOCK_SIZE_N": 256, "BLOCK_SIZE_K": 64}) == ()
    tall = {"BLOCK_SIZE_M": 256, "BLOCK_SIZE_N": 256, "BLOCK_SIZE_K": 256}
    assert domain.broken(tall)[0].reason.endswith("> 167936")


def test_a_declared_space_narrows_the_domain_and_keeps_its_rules() -> None:
    asked = question(npu=True, language="ascend-c")
    space = read_space(
        {
            "parameters": {"baseM": [128, 256], "baseN": [256], "depthA1": [2, 8], "other": ["a", "b"]},
            "constraints": ["depthA1 > 2"],
        }
    )
    domain = declared_domain(asked, space)
    assert set(domain.columns["baseM"].tolist()) == {128.0}
    assert set(domain.columns["depthA1"].tolist()) == {8.0}
    assert domain.columns["usedCoreNum"].max() == 20
    assert any("other" in note for note in domain.notes)
    with pytest.raises(InfeasibleError, match="no configuration"):
        declared_domain(asked, read_space({"parameters": {"baseM": [256], "baseN": [256]}}))
    with pytest.raises(InputError, match="no parameter"):
        declared_domain(asked, read_space({"parameters": {"tile": [256]}}))


def test_a_space_of_another_language_names_it() -> None:
    with pytest.raises(InputError) as fault:
        declared_domain(
            question(npu=True, language="ascend-c"), read_space({"parameters": {"BLOCK_M": [64, 128]}})
        )
    assert fault.value.hint == "those are of triton: --trait language=triton"
