"""Conditions: what they may say, and their three truth values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.errors import InputError
from kg.terms.conditions import Condition, Truth

A2 = frozenset({"ascend-910b3", "ascend-910b", "ascend-a2", "huawei"})


@pytest.mark.parametrize(
    ("text", "facts", "truth"),
    [
        ("experts > 0", {"experts": 128}, Truth.HOLDS),
        ("experts > 0", {"experts": 0}, Truth.FAILS),
        ("experts > 0", {}, Truth.UNKNOWN),
        ("experts > -1", {"experts": 0}, Truth.HOLDS),
        ('hardware in ("ascend-a3", "ascend-a2")', {"hardware": A2}, Truth.HOLDS),
        ('hardware not in ("ascend-a3",)', {"hardware": A2}, Truth.HOLDS),
        ('attention == "Latent"', {"attention": "latent"}, Truth.HOLDS),
        ("not unified_bus", {"unified_bus": False}, Truth.HOLDS),
        ("not unified_bus", {}, Truth.UNKNOWN),
        ('software["vllm-ascend"] >= "0.11"', {"software[vllm-ascend]": "0.11.0rc1"}, Truth.FAILS),
        ('software["vllm-ascend"] < "0.18"', {"software[vllm-ascend]": "v0.11.0"}, Truth.HOLDS),
        ("1 < tp <= devices", {"tp": 4, "devices": 8}, Truth.HOLDS),
        ("1 < tp <= devices", {"tp": 16, "devices": 8}, Truth.FAILS),
        ("heads % tp == 0", {"heads": 40, "tp": 16}, Truth.FAILS),
        ("heads % tp == 0", {"heads": 40, "tp": 0}, Truth.FAILS),
        ("experts > 0 and unified_bus", {"experts": 8}, Truth.UNKNOWN),
        ("experts > 0 or unified_bus", {"experts": 8}, Truth.HOLDS),
    ],
)
def test_a_condition_holds_fails_or_is_unknown(text: str, facts: dict[str, object], truth: Truth) -> None:
    assert Condition(text).judge(facts).truth is truth  # type: ignore[arg-type]


def test_a_failure_names_the_fact_that_decided() -> None:
    judged = Condition('experts > 0 and hardware == "ascend-a3"').judge({"experts": 0, "hardware": A2})
    assert judged.because == "routed experts of the model: 0"


def test_what_is_unknown_says_what_would_have_to_hold() -> None:
    judged = Condition("shared_prefix_share > 0.2").judge({})
    assert judged.missing == {"shared_prefix_share"}
    assert judged.because == "share of a prompt that earlier prompts had too > 0.2"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("expert > 0", "no fact is called 'expert'", "experts"),
        ("experts", "is no condition", ""),
        ('attention > "full"', "has no order", ""),
        ('experts == "many"', "cannot be compared", ""),
        ("experts > 0 and", "condition", ""),
        ("__import__('os').system('true')", "is no", ""),
        ('tp["x"] == 1', "takes no key", ""),
        ("experts in tp", "is no list", ""),
        ("tp ** 9 ** 9 > 1", "is no fact", ""),
        ("'a' * 99 == 'b'", "is no number", ""),
        ("x" * 3000, "letters", ""),
    ],
)
def test_a_wrong_condition_is_a_fault_that_names_what_is_wrong(text: str, message: str, hint: str) -> None:
    with pytest.raises(InputError) as fault:
        Condition(text)
    assert message in str(fault.value)
    assert hint in fault.value.hint


_ATOMS = st.sampled_from(["experts > 0", "unified_bus", "tp == 2", 'attention == "full"'])
_TREES = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        inner.map("not ({})".format),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
            lambda part: f"({part[0]}) {part[1]} ({part[2]})"
        ),
    ),
    max_leaves=6,
)
_FACTS = st.fixed_dictionaries(
    {},
    optional={
        "experts": st.sampled_from([0, 8]),
        "unified_bus": st.booleans(),
        "tp": st.sampled_from([1, 2]),
        "attention": st.sampled_from(["full", "latent"]),
    },
)
_WHOLE = {"experts": 8, "unified_bus": True, "tp": 2, "attention": "full"}


@given(text=_TREES, facts=_FACTS)
def test_more_facts_never_turn_a_decided_condition(text: str, facts: dict[str, object]) -> None:
    before = Condition(text).judge(facts).truth  # type: ignore[arg-type]
    after = Condition(text).judge(_WHOLE | facts).truth  # type: ignore[arg-type]
    assert after is not Truth.UNKNOWN
    assert before in {after, Truth.UNKNOWN}


@given(text=_TREES, facts=_FACTS)
def test_what_decides_is_missing_exactly_where_the_truth_is_unknown(
    text: str, facts: dict[str, object]
) -> None:
    judged = Condition(text).judge(facts)  # type: ignore[arg-type]
    assert bool(judged.missing) is (judged.truth is Truth.UNKNOWN)
    assert not judged.missing & set(facts)


@pytest.mark.parametrize(
    ("text", "reason"), [("experts > ", "invalid syntax"), ("(experts > 1", "was never closed")]
)
def test_what_is_no_expression_says_what_python_says(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        Condition(text)


def test_a_text_that_is_neither_number_nor_release_is_unknown() -> None:
    judged = Condition("nodes > 1").judge({"nodes": "many"})
    assert judged.truth is Truth.UNKNOWN
    assert judged.missing == {"nodes"}
