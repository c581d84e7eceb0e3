"""Changes that another release makes to a launch."""

import pytest

from ingest.questions.launches.running import running_settings
from kg.errors import InputError
from kg.nouns.release import release_key
from kg.terms.meanings import meaning_of
from kg.terms.setting_registry import registry
from recommender.audit.case import AuditCase
from recommender.audit.upgrade import Upgrade, UpgradeKind, upgrade


def upgraded(words: str, before: str, after: str, program: str = "vllm") -> Upgrade:
    case = AuditCase(
        settings=running_settings(f"vllm serve m {words}"), program=program, version=before, is_told=True
    )
    return upgrade(case, program, after)


def kinds(change: Upgrade) -> dict[str, UpgradeKind]:
    return {item.key: item.kind for item in change.changes}


def test_what_is_gone_breaks_and_comes_first() -> None:
    change = upgraded("--enable-chunked-prefill --num-scheduler-steps 8", "0.7.3", "0.33.0")
    assert change.breaks
    assert change.changes[0].kind is UpgradeKind.REMOVED
    assert change.changes[0].key == "--num-scheduler-steps"
    assert change.changes[0].line == 1
    assert kinds(change)["--enable-chunked-prefill"] is UpgradeKind.SUPERFLUOUS


def test_a_default_that_changes_is_told_unless_the_script_states_it() -> None:
    assert kinds(upgraded("", "0.11.0", "0.33.0"))["--gpu-memory-utilization"] is UpgradeKind.DEFAULT
    stated = kinds(upgraded("--gpu-memory-utilization 0.8", "0.11.0", "0.33.0"))
    assert "--gpu-memory-utilization" not in stated


def test_what_is_new_came_after_the_release_that_runs() -> None:
    change = upgraded("", "0.9.0", "0.11.0")
    new = [item for item in change.changes if item.kind is UpgradeKind.POSSIBLE]
    assert "--async-scheduling" in {item.key for item in new}
    settings = {item.key: item for item in registry("vllm").settings}
    since = [settings[item.key].since for item in new if item.key in settings]
    assert all(name is None or release_key(name) > release_key("0.9.0") for name in since)
    assert not change.breaks


def test_the_same_release_changes_nothing() -> None:
    assert upgraded("--max-num-seqs 8", "0.33.0", "0.33.0").changes == ()


def test_a_plugin_is_asked_with_what_it_extends() -> None:
    change = upgraded("--swap-space 4", "0.11.0", "0.23.0", program="vllm-ascend")
    assert kinds(change)["--swap-space"] is UpgradeKind.REMOVED


def test_another_program_or_an_untold_release_is_refused() -> None:
    case = AuditCase(settings=running_settings("vllm serve m"), program="vllm", version="0.33.0")
    with pytest.raises(InputError, match="is not told"):
        upgrade(case, "vllm", "0.33.0")
    with pytest.raises(InputError, match="the script runs vllm"):
        upgrade(case, "sglang", "0.5.9")


def test_json_has_nothing_where_nothing_is_known() -> None:
    change = upgraded("--num-scheduler-steps 8", "0.8.5", "0.33.0")
    by_key = {str(item["setting"]): item for item in change.to_json()["changes"]}  # type: ignore[attr-defined]
    gone, new = by_key["--num-scheduler-steps"], by_key["--async-scheduling"]
    assert (gone["before"], gone["line"], gone["since"], gone["strategy"]) == ("8", 1, "0.10.1", None)
    assert (new["before"], new["line"]) == (None, None)
    assert change.to_json()["breaks"] is True


def test_defaults_that_change_are_switches_or_state_a_fact() -> None:
    change = upgraded("", "0.11.0", "0.33.0")
    defaults = {
        item.key: (item.before, item.after) for item in change.changes if item.kind is UpgradeKind.DEFAULT
    }
    assert defaults["--gpu-memory-utilization"] == ("0.9", "0.92")
    assert ("false", "true") in defaults.values()
    settings = {item.key: item for item in registry("vllm").settings}
    own = [settings[key] for key in defaults if key in settings]
    assert all(item.type == "bool" or meaning_of(item.key) is not None for item in own)


def test_a_strategy_is_named_for_a_setting_of_its_own_program_alone() -> None:
    case = AuditCase(settings=running_settings("vllm serve m"), program="vllm", version="0.9.0", is_told=True)
    for software, named in (("vllm", "mine"), ("sglang", "")):
        change = upgrade(case, "vllm", "0.11.0", {f"{software} async_scheduling": "mine"})
        [item] = [item for item in change.changes if item.key == "--async-scheduling"]
        assert item.strategy == named
