"""A finding: how it is written, in what order, what a start takes back."""

from dataclasses import replace

import pytest

from ingest.questions.launches.running import RunningSetting
from kg.nouns.audit import FindingKind, FindingLevel
from kg.nouns.gain import Gain
from kg.nouns.setting import SettingPlace
from recommender.audit.finding import PricedCost, SettingFinding, factor_of

EAGER = SettingFinding(
    rule="eager-mode",
    kind=FindingKind.COST,
    level=FindingLevel.ERROR,
    setting=RunningSetting(key="--enforce-eager", value="true", place=SettingPlace.FLAG, line=3),
    says={"en": "off"},
)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("--enforce-eager", "true", "--enforce-eager"),
        ("--dtype", "float32", "--dtype float32"),
        ("NCCL_DEBUG", "TRACE", "NCCL_DEBUG=TRACE"),
        ("a.b", "true", "a.b=true"),
    ],
)
def test_a_setting_is_written_as_people_write_it(key: str, value: str, text: str) -> None:
    setting = replace(EAGER.setting, key=key, value=value)
    assert replace(EAGER, setting=setting).text == text


def test_the_worst_comes_first() -> None:
    dear = replace(EAGER, rule="dear", priced=PricedCost(gain=Gain.around(1.0, 0.1)))
    alone = replace(EAGER, rule="alone", priced=PricedCost(single_gain=Gain.around(0.5, 0.1)))
    refused = replace(EAGER, rule="refused", kind=FindingKind.REFUSED)
    warning = replace(EAGER, rule="warning", level=FindingLevel.WARNING)
    note = replace(EAGER, rule="note", level=FindingLevel.NOTE)
    later = replace(EAGER, rule="later", setting=replace(EAGER.setting, line=9))
    wanted = [refused, dear, alone, EAGER, later, warning, note]
    mixed = [note, EAGER, warning, later, alone, refused, dear]
    assert sorted(mixed, key=lambda item: item.order) == wanted


@pytest.mark.parametrize("kind", list(FindingKind))
@pytest.mark.parametrize("level", list(FindingLevel))
def test_a_start_takes_back_what_is_an_error_and_only_costs(kind: FindingKind, level: FindingLevel) -> None:
    item = replace(EAGER, kind=kind, level=level)
    written = {FindingKind.REFUSED, FindingKind.IGNORED, FindingKind.LIMIT}  # by another name or value
    is_left_on = kind is FindingKind.DEBUGGING and level is not FindingLevel.NOTE
    assert item.is_taken_back == (is_left_on or (level is FindingLevel.ERROR and kind not in written))


def test_a_limit_below_what_is_told_is_raised_unless_it_is_a_note() -> None:
    limit = replace(EAGER, kind=FindingKind.LIMIT, remedy="--max-num-seqs 200", load_fact="concurrency")
    assert limit.is_below_told
    assert limit.is_rewritten
    assert not limit.is_taken_back
    assert replace(limit, kind=FindingKind.COST).is_rewritten  # graphs of fewer requests than are told
    for other in (replace(limit, load_fact=""), replace(limit, level=FindingLevel.NOTE)):
        assert not other.is_below_told
        assert not other.is_rewritten


def test_what_is_taken_away_is_the_setting_or_what_the_rule_names() -> None:
    assert EAGER.removals == ("--enforce-eager",)
    several = replace(EAGER, removes=("--a", "--b"))
    assert several.removals == ("--a", "--b")
    assert several.to_json()["remedy"] == {"remove": ["--a", "--b"]}
    assert replace(EAGER, remedy="--c 1").to_json()["remedy"] == {"write": "--c 1"}


def test_a_price_is_the_larger_of_both_loads_and_has_its_interval() -> None:
    both = PricedCost(gain=Gain.around(0.1, 0.05), single_gain=Gain.around(0.7, 0.1), memory_bytes=2.5)
    assert both.most == pytest.approx(0.7)
    content = both.to_json()
    assert content["memory_bytes"] == 2
    assert content["throughput"] is not None
    assert PricedCost(gain=Gain.around(0.1, 0.05)).to_json()["throughput_at_one_request"] is None
    assert factor_of(Gain.around(0.0, 0.0)) == "1.00x (1.00x to 1.00x)"


def test_json_says_where_and_what() -> None:
    content = EAGER.to_json()
    assert (content["line"], content["place"], content["level"], content["kind"]) == (
        3,
        "flag",
        "error",
        "cost",
    )
    assert content["default"] is None
    assert content["priced"] is None


@pytest.mark.parametrize(
    ("remedy", "kind", "instead"),
    [
        ("--global-batch-size 256", FindingKind.REFUSED, ("--global-batch-size", "256")),
        ("export CUDA_DEVICE_MAX_CONNECTIONS=1", FindingKind.REFUSED, ("CUDA_DEVICE_MAX_CONNECTIONS", "1")),
        ("CUDA_VISIBLE_DEVICES=0,1,...: 4 devices", FindingKind.REFUSED, None),
        ("--tensor-parallel-size 2", FindingKind.REFUSED, ("--tensor-parallel-size", "2")),
        ("--recompute-granularity selective", FindingKind.COST, ("--recompute-granularity", "selective")),
    ],
)
def test_a_value_that_keeps_a_program_from_starting_is_rewritten(
    remedy: str, kind: FindingKind, instead: tuple[str, str] | None
) -> None:
    item = replace(EAGER, remedy=remedy, kind=kind, level=FindingLevel.ERROR)
    assert item.instead == instead
    assert item.is_rewritten is (instead is not None and kind is FindingKind.REFUSED)
    assert not replace(item, level=FindingLevel.WARNING).is_rewritten
