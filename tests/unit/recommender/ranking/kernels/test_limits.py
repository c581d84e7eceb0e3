"""Limits in words: buffers that are nearly full, what does nothing here."""

from recommender.ranking.kernels.domain import generated_domain
from recommender.ranking.kernels.spelling import foreign_settings, limit_lines, not_fitting
from tests.unit.recommender.ranking.kernel_questions import question


def test_full_buffers_are_told_with_their_source() -> None:
    domain = generated_domain(question(npu=True, language="ascend-c"))
    told = list(
        limit_lines(
            domain,
            {"baseM": 128, "baseN": 256, "baseK": 64, "dbL0A": 2, "dbL0B": 2, "dbL0C": 1, "usedCoreNum": 5},
        )
    )
    assert any(line.startswith("the sums fit L0C: 131072 of 131072 <https://") for line in told)
    assert any("L0B: 65536 of 65536" in line for line in told)
    assert not any("cube cores" in line for line in told)  # a quarter of them


def test_what_is_set_and_cannot_run_is_quoted() -> None:
    domain = generated_domain(question(npu=True, language="ascend-c"))
    current = {"baseM": 256, "baseN": 256}
    (one,) = not_fitting(current, domain.broken(current))
    assert one.strategy == "baseM=256, baseN=256"
    assert "cannot run" in one.because
    assert "262144 > 131072" in one.because
    assert not_fitting(current, ()) == ()


def test_settings_of_others_do_nothing_here() -> None:
    def names(**asked: object) -> str:
        one = question(**asked)  # type: ignore[arg-type]  # passed on
        return "; ".join(item.strategy for item in foreign_settings(one, generated_domain(one)))

    assert "num_warps, num_stages" in names(npu=True, language="triton")
    assert "waves_per_eu" in names()
    assert "multibuffer" in names()
    assert "multibuffer" not in names(npu=True, language="triton")
    assert "BLOCK_SIZE_M=32" in names(shape={"M": 8, "N": 4096, "K": 4096})
