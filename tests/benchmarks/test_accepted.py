"""Launches of official recipes as argv, and what complaints are about."""

import json

import pytest

from benchmarks.answers.accepted import Verdicts, judge_recipes, kind_of, published
from tools.oracle.facts import facts


def settings(*items: tuple[str, str, str]) -> list[dict[str, str]]:
    return [{"where": where, "key": key, "value": value} for where, key, value in items]


def test_settings_of_a_recipe_become_an_argv() -> None:
    argv, environment = published(
        facts("vllm", "0.25.1"),
        settings(
            ("flag", "--enable-expert-parallel", "true"),
            ("flag", "--served-model-name", "a b"),
            ("flag", "--nproc_per_node", "8"),
            ("json", "speculative_config.method", "mtp"),
            ("json", "speculative_config.num_speculative_tokens", "2"),
            ("env", "VLLM_USE_V1", "1"),
        ),
    )
    assert argv[:5] == ["MODEL", "--enable-expert-parallel", "--served-model-name", "a", "b"]
    assert argv[5] == "--speculative-config"
    assert json.loads(argv[6]) == {"method": "mtp", "num_speculative_tokens": 2}
    assert environment == {"VLLM_USE_V1": "1"}


def test_a_recipe_for_newer_releases_is_accepted_where_one_of_them_accepts_it() -> None:
    row = {"framework": "vllm", "settings": settings(("flag", "--async-scheduling", "true"))}
    found = judge_recipes(
        [
            row | {"framework_version": "vllm>=0.9.0"},
            row | {"framework_version": "0.9.0"},
            {"framework": "unheard-of", "settings": []},
        ]
    )
    assert found["vllm"].accepted == [True, False]
    assert found["vllm"].kinds == {"unrecognized arguments": 1}
    assert found["all"].unjudged == {"unheard-of: not read": 1}


@pytest.mark.parametrize(
    ("complaint", "kind"),
    [
        ("unrecognized arguments: --x", "unrecognized arguments"),
        ("argument --x: invalid int value: 'a'", "invalid value"),
        ("x: 0 is less than 1", "invalid value"),
        ("argument --x: invalid choice: 'a' (choose from 'b')", "invalid choice"),
        ("argument --x: expected one argument", "expected"),
    ],
)
def test_complaints_are_counted_by_what_they_are_about(complaint: str, kind: str) -> None:
    verdicts = Verdicts()
    verdicts.take([complaint, complaint])
    verdicts.take([])
    assert kind_of(complaint) == kind
    assert verdicts.to_json() == {
        "judged": 2, "accepted": 0.5, "complaints": {kind: 1}, "unjudged": {},
    }  # fmt: skip
