"""A start leaves as its release takes it, and reads back as what it is."""

from dataclasses import replace

import pytest

from kg.nouns.setting import SettingPlace
from kg.nouns.situation import FactOrigin, Situation, StatedFact
from kg.nouns.values import Value
from kg.terms.setting_registry import registry
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.start import StartConfiguration
from recommender.ranking.starts.launchable import in_release, launchable
from tests.unit.recommender.ranking.starts.situations import situation

RELEASE = registry("vllm").at("0.18.0")


def setting(key: str, value: Value, origin: Origin = Origin.RECIPE, negation: str = "") -> PlanSetting:
    where = SettingPlace.ENV if key.isupper() else SettingPlace.JSON if "." in key else SettingPlace.FLAG
    return PlanSetting(where=where, key=key, value=value, origin=origin, negation=negation)


def kept(*settings: PlanSetting, framework: str = "vllm") -> tuple[list[str], list[str]]:
    start, said = launchable(StartConfiguration(framework=framework, settings=settings), RELEASE)
    return [item.key for item in start.settings], said


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (setting("--max-num-seqs", 64), ""),
        (setting("--max-num-seqs", "many"), "does not take many"),
        (setting("--max-num-seqs", None, Origin.CURRENT), "it has no value"),
        (setting("--kv-cache-dtype", "fp77", Origin.CURRENT), "does not take fp77"),
        (setting("--use-v2-block-manager", True, Origin.CURRENT), "removed in 0.10.0"),
        (setting("no_such_config.a", 1), "none of that name"),
        (setting("compilation_config.cudagraph_mode", "FULL_DECODE_ONLY"), ""),
        (setting("--kv-transfer-config", '{"a.b": null}', Origin.CURRENT), ""),
        (setting("--trust-remote-code", False), "switches it off"),
        (setting("--limit-mm-per-prompt", "image=1", Origin.CURRENT), "does not take image=1"),
        (setting("--enable-prefix-caching", False, negation="--no-enable-prefix-caching"), ""),
        (setting("--lora-modules", ("a=/a b", "c=/$c"), Origin.CURRENT), ""),
        (setting("OF_NOBODY", "a 'b' $c"), ""),
    ],
)
def test_what_a_release_takes(item: PlanSetting, why: str) -> None:
    keys, said = kept(item)
    assert (keys == [item.key]) == (not why)
    assert (why in said[0]) if why else said == []


def test_of_what_excludes_each_other_the_scripts_own_stays() -> None:
    batched, seqs = "--max-num-batched-tokens", "--max-num-seqs"
    keys, said = kept(setting(batched, 64, Origin.CURRENT), setting(seqs, 128))
    assert keys == [batched]
    assert "refuses" in said[0]
    pair = (setting(seqs, 128, Origin.CURRENT), setting(batched, 64))
    start, said = launchable(StartConfiguration(framework="vllm", settings=pair), RELEASE)
    assert {item.key: item.value for item in start.settings} == {
        seqs: 128,
        batched: 128,
    }  # which it may not undercut
    assert said == []
    own = [setting(batched, 64, Origin.CURRENT), setting(seqs, 128, Origin.CURRENT)]
    keys, said = kept(*own)
    assert keys == [batched, seqs]
    assert "your script sets" in said[0]


def test_without_a_registry_only_the_text_is_read_back() -> None:
    item = setting("--anything", 1)
    start = StartConfiguration(framework="of-nobody", settings=(item,))
    assert launchable(start, None) == (start, [])


def test_what_runs_is_put_into_the_words_of_its_release() -> None:
    current: dict[str, Value] = {
        "speculative_model": "[ngram]",
        "num_speculative_tokens": 5,
        "preemption_mode": "swap",
        "x": 1,
    }
    about = situation(current=current)
    now, said = in_release(about, RELEASE)
    assert dict(now.current or {}) == {
        "speculative_config.method": "ngram", "speculative_config.num_speculative_tokens": 5, "x": 1,
    }  # fmt: skip
    assert [line.partition(",")[0] for line in said] == [
        "num_speculative_tokens", "preemption_mode", "speculative_model",
    ]  # fmt: skip
    assert in_release(about, None) == (about, [])
    pairs = situation(current={"limit_mm_per_prompt": "image=2,video=0"})
    assert dict(in_release(pairs, RELEASE)[0].current or {}) == {
        "limit_mm_per_prompt": '{"image": 2, "video": 0}'
    }
    same = situation(current={"max_num_seqs": 8})
    assert in_release(same, RELEASE) == (same, [])


def test_a_field_is_looked_up_where_the_script_has_it() -> None:
    fact = StatedFact(name="places.a", value="speculative_config.method", origin=FactOrigin.SCRIPT)
    about = situation(current={"a": "ngram"})
    about = replace(about, problem=replace(about.problem, situation=Situation.of([fact])))
    assert about.script_key("a") == "speculative_config.method"
    assert about.script_key("b") == ""
    assert in_release(about, RELEASE) == (about, [])


def test_what_a_trainers_script_has_to_set_beside_a_start_is_said() -> None:
    fsdp = setting("--use-torch-fsdp2", True)
    start = StartConfiguration(framework="megatron-lm", settings=(fsdp,))
    found, said = launchable(start, registry("megatron-lm").at("0.17.0"))
    assert found.settings == (fsdp,)
    assert (
        "--use-torch-fsdp2 needs --untie-embeddings-and-output-weights, which the script has to set" in said
    )
