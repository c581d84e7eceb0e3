"""Layouts: their devices, their split, their words."""

from hypothesis import given
from hypothesis import strategies as st

from kg.nouns.layout import ParallelLayout

SIZES = st.integers(1, 64)


@given(tp=SIZES, pp=SIZES, dp=SIZES, ep=SIZES, cp=SIZES)
def test_a_layout_takes_the_product_of_its_sizes(tp: int, pp: int, dp: int, ep: int, cp: int) -> None:
    apart = ParallelLayout(tp=tp, pp=pp, dp=dp, ep=ep, cp=cp)
    assert apart.devices == tp * pp * dp * cp
    assert apart.to_json()["devices"] == apart.devices
    inside = ParallelLayout(tp=tp, pp=pp, dp=dp, ep=ep, cp=cp, dp_attention=True)
    assert inside.devices == tp * pp * cp
    assert inside.to_json()["dp_attention"] == 1


@given(tp=SIZES, pp=SIZES, dp=SIZES, ep=SIZES, cp=SIZES)
def test_the_split_is_alike_however_an_engine_counts_replicas(
    tp: int, pp: int, dp: int, ep: int, cp: int
) -> None:
    apart = ParallelLayout(tp=tp, pp=pp, dp=dp, ep=ep, cp=cp)
    inside = ParallelLayout(tp=tp * dp, pp=pp, dp=dp, ep=ep, cp=cp, dp_attention=True)
    assert apart.split == inside.split == (tp, pp, dp, ep, cp)
    assert apart.devices == inside.devices
    for layout in (apart, inside):
        assert ParallelLayout.from_json(layout.to_json()) == layout


def test_a_layout_in_words_leaves_out_what_is_not_split() -> None:
    assert str(ParallelLayout(tp=4, dp=2)) == "TP 4 x DP 2"
    assert str(ParallelLayout(tp=16, dp=4, dp_attention=True)) == "TP 4 x DP 4"
    assert str(ParallelLayout()) == "one device"


@given(tp=SIZES, pp=SIZES, dp=SIZES, ep=SIZES, cp=SIZES)
def test_degrees_hold_replicas_beside_tensors(tp: int, pp: int, dp: int, ep: int, cp: int) -> None:
    apart = ParallelLayout(tp=tp, pp=pp, dp=dp, ep=ep, cp=cp)
    inside = ParallelLayout(tp=tp * dp, pp=pp, dp=dp, ep=ep, cp=cp, dp_attention=True)
    assert inside.degrees() == apart.degrees()
    assert ParallelLayout.of_degrees(inside.degrees()) == apart
    assert apart.degrees({"tensor_parallel"}) == {"tensor_parallel": tp}
