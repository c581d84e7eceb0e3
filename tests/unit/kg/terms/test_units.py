import pytest

from kg.nouns.entities import WorkloadKind
from kg.terms.metrics import canonical_metric
from kg.terms.precisions import canonical_precision, is_precision
from kg.terms.units import share_of, unit


@pytest.mark.parametrize(
    ("text", "value", "symbol", "converted"),
    [
        ("ms", 15.936397, "s", 0.015936397),
        ("us", 5.4049, "s", 5.4049e-06),
        ("µs", 2, "s", 2e-06),
        ("ns", 3, "s", 3e-09),
        ("kWh", 1, "J", 3.6e6),
        ("GB", 2, "B", 2e9),
        ("", 3, "1", 3),
        ("tokens/s/gpu", 7, "tokens/s/device", 7),
        ("tok/s/npu", 7, "tokens/s/device", 7),
        ("samples_or_tokens/s", 2, "samples_or_tokens/s", 2),
    ],
)
def test_a_unit_converts(text: str, value: float, symbol: str, converted: float) -> None:
    known = unit(text)
    assert known.symbol == symbol
    assert known.to_si(value) == pytest.approx(converted, rel=1e-15)


def test_case_matters_where_si_says_so() -> None:
    assert unit("mW").to_si(1) == 1e-3
    with pytest.raises(ValueError, match="unknown unit 'MW'"):
        unit("MW")


@pytest.mark.parametrize("text", ["parsec", "tokens", "tokens/day", "tokens/s/gpu/node", "bananas/s", "m s"])
def test_an_unknown_unit_is_no_unit(text: str) -> None:
    with pytest.raises(ValueError, match="unknown unit"):
        unit(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("torch.bfloat16", "bfloat16"),
        ("BF16", "bfloat16"),
        ("Half", "float16"),
        ("Single", "float32"),
        ("torch.float8_e4m3fnuz", "float8_e4m3fnuz"),
        ("bf16/int8", "bfloat16/int8"),
    ],
)
def test_a_number_format_has_one_name(text: str, name: str) -> None:
    assert canonical_precision(text) == name
    assert canonical_precision(name) == name


def test_what_is_no_number_format_is_told_apart() -> None:
    assert all(map(is_precision, ("w8a8", "W4A8", "w4a16")))
    assert all(map(is_precision, ("torch.int8", "fp8_block", "w4a16_mxfp4".removeprefix("w4a16_"), "TF32")))
    assert not any(map(is_precision, ("ActivationType.Silu", "QuantType.No", "1", "False")))


def test_a_bare_time_is_a_kernel_time_only_of_a_kernel() -> None:
    assert canonical_metric("time", WorkloadKind.KERNEL) == "kernel_time"
    assert canonical_metric("Time", WorkloadKind.HPC) == "run_time"
    assert canonical_metric("nvml_energy", WorkloadKind.KERNEL) == "energy"
    assert canonical_metric("E_diff", WorkloadKind.HPC) == "E_diff"


@pytest.mark.parametrize("text", ["3%", "3 %", "0.03", " 3e-2 "])
def test_a_share_is_a_number_or_percent(text: str) -> None:
    assert share_of(text) == pytest.approx(0.03)


@pytest.mark.parametrize("text", ["", "%", "3%%", "three", "nan", "inf"])
def test_no_share_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"share|float"):
        share_of(text)
