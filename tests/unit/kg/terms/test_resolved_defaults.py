"""Values that say what the program does anyway, by its resolved default and the device."""

import pytest

from kg.nouns.look_up import LookUp, Standing
from kg.nouns.setting import ResolvedCase, Setting, SettingDefault, SettingPlace
from kg.terms.resolved_defaults import is_default, possible

GIB = 2**30
H100 = {"hardware": frozenset({"nvidia", "nvidia-h100"}), "memory_bytes": 80 * GIB}
A100 = {"hardware": frozenset({"nvidia", "nvidia-a100-80gb"}), "memory_bytes": 80 * GIB}
ASCEND = {"hardware": frozenset({"huawei", "ascend-910b3"}), "memory_bytes": 64 * GIB}
TPU = {"hardware": frozenset({"google", "google-tpu", "tpu-v6e"}), "memory_bytes": 32 * GIB}
XEON = {"hardware": frozenset({"intel", "intel-xeon"}), "memory_bytes": 256 * GIB}
SEQUENCES = (
    ResolvedCase(when="platform == cpu", computed=True),
    ResolvedCase(when="platform == ascend", value=16),
    ResolvedCase(when="device has a100 and memory >= 70", value=256, bound="most"),
    ResolvedCase(when="memory >= 70", value=1024, bound="most"),
    ResolvedCase(value=256, bound="most"),
)


def found(*cases: ResolvedCase, kind: str = "int") -> LookUp:
    setting = Setting(
        software="vllm",
        key="--toy",
        place=SettingPlace.FLAG,
        type=kind,
        defaults=(SettingDefault(release="0.1.0"),),
        resolved=(("0.1.0", cases),),
    )
    return LookUp(standing=Standing.TAKEN, release="0.10.0", setting=setting)


@pytest.mark.parametrize(
    ("facts", "value", "default"),
    [(H100, 1024, True), (H100, 256, False), (A100, 256, True), (ASCEND, 16, True), (ASCEND, 256, False),
     ({}, 256, False), (TPU, 256, True), (XEON, 256, False)],
)  # fmt: skip
def test_a_default_by_the_device_is_told_only_where_the_device_is(
    facts: dict[str, object], value: int, default: bool
) -> None:
    assert is_default(found(*SEQUENCES), value, facts) is default


def test_memory_near_a_limit_decides_nothing() -> None:
    cases = (ResolvedCase(when="memory < 62", value=4096), ResolvedCase(value=8192))
    assert len(list(possible(found(*cases), ASCEND))) == 2
    assert not is_default(found(*cases), 8192, ASCEND)


def test_what_nobody_can_judge_hides_the_default() -> None:
    cases = (ResolvedCase(when="?", value=64), ResolvedCase(value=1))
    assert not is_default(found(*cases), 1, H100)
    assert is_default(found(ResolvedCase(when="?", value=1), ResolvedCase(value=1)), 1, H100)
    assert not is_default(found(ResolvedCase(computed=True)), 1, H100)
    assert not is_default(found(ResolvedCase(value=8, bound="least")), 8, H100)


@pytest.mark.parametrize(
    ("attention", "default"), [({"grouped"}, True), ({"grouped", "linear"}, False), (set(), True)]
)
def test_what_a_model_takes_is_known_of_plain_decoders(attention: set[str], default: bool) -> None:
    cases = (ResolvedCase(when="plain decoder", value=True), ResolvedCase(computed=True))
    facts = {**H100, "model": frozenset({"decoder"}), "attention": frozenset(attention)}
    assert is_default(found(*cases, kind="bool"), "true", facts) is default


@pytest.mark.parametrize(("kind", "default"), [("decoder", True), ("multimodal", False)])
def test_what_every_writer_takes_a_plain_decoder_takes_that_gives_vectors(kind: str, default: bool) -> None:
    cases = (ResolvedCase(when="text writer", value=True), ResolvedCase(computed=True))
    facts = {**H100, "model": frozenset({kind}), "attention": frozenset({"grouped"}), "pooling": True}
    assert is_default(found(*cases, kind="bool"), "true", facts) is default
    assert is_default(found(*cases, kind="bool"), "true", {**facts, "pooling": False})


def test_other_settings_count_as_nobody_told_them() -> None:
    shipped = found(ResolvedCase(when="--performance-mode == throughput", value=512), ResolvedCase(value=256))
    here = LookUp(standing=Standing.TAKEN, release="0.32.0", setting=shipped.setting)
    assert is_default(here, 256, H100)
    assert not is_default(here, 512, H100)
