"""The case of an audit: program and release, names of settings, facts with and without a whole question."""

import pytest

from ingest.questions.launches.running import running_settings
from recommender.applicability.framework import RunningFramework, newest_release
from recommender.audit.case import AuditCase, audit_case


def case_of(script: str, program: str = "vllm", version: str = "0.33.0") -> AuditCase:
    return AuditCase(settings=running_settings(script), program=program, version=version)


def test_a_setting_goes_by_all_its_names() -> None:
    case = case_of("vllm serve m --no-enable-prefix-caching -tp 4 -cc.cudagraph_mode=NONE")
    names = {setting.key: dict(forms) for setting, forms in case.forms.items()}
    assert names["--no-enable-prefix-caching"]["enable_prefix_caching"] == "false"
    assert names["-tp"]["tensor_parallel_size"] == "4"
    assert names["cc.cudagraph_mode"]["compilation_config.cudagraph_mode"] == "NONE"
    assert case.all_facts["setting[enable_prefix_caching]"] == "false"
    assert case.all_facts["setting[tensor_parallel_size]"] == "4"
    assert case.all_facts["software[vllm]"] == "0.33.0"


def test_an_unknown_value_has_no_form() -> None:
    assert case_of("vllm serve m --max-num-seqs $N").forms == {}


def test_programs_are_those_beneath_too() -> None:
    assert case_of("vllm serve m", "vllm-ascend", "0.23.0").programs["vllm"] == "0.23.0"
    assert case_of("vllm serve m", "own-server", "1.0").programs == {"own-server": "1.0"}
    assert case_of("vllm serve m", "", "").programs == {}
    assert case_of("vllm serve m", "own-server").release is None


def test_a_name_that_is_no_release_is_the_newest() -> None:
    release = case_of("vllm serve m", "vllm", "nightly-build").release
    assert release is not None
    assert release.release == case_of("vllm serve m", "vllm", "").release.release  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("script", "software", "program", "told"),
    [
        ("vllm serve m", {"vllm": "0.9.0"}, ("vllm", "0.9.0"), True),
        ("vllm serve m", {"vllm": ""}, ("vllm", newest_release("vllm")), False),
        (
            "HCCL_BUFFSIZE=200 vllm serve m",
            {"vllm": ""},
            ("vllm-ascend", newest_release("vllm-ascend")),
            False,
        ),
        ("vllm serve m", {}, ("", ""), False),
    ],
)
def test_without_hardware_the_program_is_what_the_script_names(
    script: str, software: dict[str, str], program: tuple[str, str], told: bool
) -> None:
    case = audit_case(running_settings(script), {"software": software, "phase": "serving", "count": 4})
    assert (case.program, case.version) == program
    assert case.is_told is told
    assert case.facts["devices"] == 4
    assert case.facts["phase"] == "serving"
    assert (case.facts.get("hardware") == frozenset({"huawei"})) == ("HCCL" in script)


def test_a_framework_that_is_known_wins_over_the_name() -> None:
    known = RunningFramework(id="vllm-ascend", version="0.23.0", is_assumed=True)
    case = audit_case(
        (), {"software": {"vllm": ""}}, framework=known, stated={"devices": 2}, hardware=["a", "b"]
    )
    assert (case.program, case.version, case.is_told) == ("vllm-ascend", "0.23.0", False)
    assert case.facts["hardware"] == frozenset({"a", "b"})
    assert case.facts["devices"] == 2


@pytest.mark.parametrize(
    ("words", "role"),
    [
        ('--kv-transfer-config \'{"kv_role": "kv_producer"}\'', "prefill"),
        ('--kv-transfer-config \'{"kv_role": "kv_consumer"}\'', "decode"),
        ('--kv-transfer-config \'{"kv_role": "kv_both"}\'', None),
        ("", None),
    ],
)
def test_the_role_is_read_from_the_launch(words: str, role: str | None) -> None:
    case = audit_case(running_settings(f"vllm serve m {words}"), {"software": {"vllm": ""}})
    assert case.facts.get("role") == role


def test_what_a_switch_implies_is_no_reason_for_the_switch() -> None:
    assert "deterministic" not in audit_case((), {}, stated={"deterministic": True}).facts
    told = audit_case((), {"traits": {"deterministic": True}}, stated={"deterministic": True})
    assert told.facts["deterministic"] is True


def test_drafts_are_seen_in_any_spelling() -> None:
    for words in ('--speculative-config \'{"method": "ngram"}\'', "--speculative-model x"):
        assert audit_case(running_settings(f"vllm serve m {words}"), {}).facts["speculative"] is True
    assert audit_case(running_settings("vllm serve m"), {}).facts["speculative"] is False


def test_a_launch_of_an_older_release_is_judged_by_it_where_none_is_told() -> None:
    command = (
        "torchrun -m torchtitan.train --job.config_file a.toml --model.name llama3 --model.flavor 8B"
        " --activation_checkpoint.mode full --training.steps 9"
    )
    case = audit_case(running_settings(command), {"software": {"torchtitan": ""}})
    assert case.version == "0.2.2"
    assert not case.is_told
    leftover = "torchrun -m torchtitan.train --model.name llama3 --training.steps 9"
    newest = audit_case(running_settings(leftover), {"software": {"torchtitan": ""}})
    assert newest.version == newest.release.registry.releases[-1]  # type: ignore[union-attr]
