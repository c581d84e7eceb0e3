"""Successors of removed settings."""

import pytest

from kg.nouns.look_up import Standing
from kg.nouns.setting import SettingPlace
from kg.terms.meanings import table
from kg.terms.setting_registry import registry
from kg.terms.successors import newest_word, successors

NEWEST = {program: registry(program).at("") for program in table("successors")}
ROWS = [(program, key, value, after) for program, rows in table("successors").items() for key, forms in rows.items()
        for value, after in forms.items()]  # fmt: skip


@pytest.mark.parametrize(("program", "key", "value", "after"), ROWS)
def test_each_successor_is_in_the_newest_release_and_takes_the_value(
    program: str, key: str, value: str, after: dict[str, object]
) -> None:
    release = NEWEST[program]
    gone = release.look_up(key, SettingPlace.FLAG if key.startswith("-") else None, suggest=False)
    assert gone.standing is (Standing.TAKEN if key in after else Standing.REMOVED)
    for name, item in after.items():
        found = release.look_up(name, suggest=False)
        assert found.usable, name
        assert found.setting is not None
        assert item in {"*", "?"} or found.setting.accepts(item), (name, item)  # type: ignore[arg-type]


def test_a_value_decides_what_follows() -> None:
    release = NEWEST["vllm"]
    model = release.look_up("--speculative-model")
    assert successors(release, model, "[ngram]") == {"speculative_config.method": "ngram"}
    assert successors(release, model, "a/B") == {"speculative_config.model": "a/B"}
    assert successors(release, release.look_up("--use-v2-block-manager"), True) == {}
    assert successors(release, release.look_up("--preemption-mode"), "swap") is None
    assert successors(release, release.look_up("--max-num-seqs"), 8) is None
    for switch in (True, 1, "1"):
        assert successors(release, release.look_up("VLLM_USE_FBGEMM"), switch) == {
            "--linear-backend": "fbgemm"
        }
    fp8 = release.look_up("VLLM_USE_FLASHINFER_MOE_FP8")
    assert (successors(release, fp8, "1"), successors(release, fp8, "0")) == (None, {})


def test_the_registry_says_the_rest_where_kind_and_value_agree() -> None:
    release = NEWEST["sglang"]
    backend = release.look_up("--nsa-decode-backend")
    assert successors(release, backend, "fa3") == {"--dsa-decode-backend": "fa3"}
    assert successors(release, backend, "nothing") is None
    assert successors(release, release.look_up("--enable-ep-moe"), True) is None


@pytest.mark.parametrize(
    ("release", "value", "word"),
    [("", "deepseek_mtp", "mtp"), ("", "eagle3", "eagle3"), ("0.10.2", "deepseek_mtp", "deepseek_mtp")],
)
def test_a_word_that_another_took_the_place_of_is_the_release_s(release: str, value: str, word: str) -> None:
    found = registry("vllm").at(release).look_up("speculative_config.method", suggest=False)
    assert newest_word(found, value) == word
