"""``tunegraph kb list settings``: what a release of a program takes."""

from typing import Any


def test_the_settings_of_a_release_are_listed(run: Any) -> None:
    found = run("kb", "list", "settings", "--software", "vllm-ascend=0.18", "--json").json
    assert (found["software"], found["release"]) == ("vllm-ascend", "0.18.0")
    settings = {item["key"]: item for item in found["settings"]}
    binding = settings["additional_config.enable_cpu_binding"]
    assert (binding["place"], binding["in"], binding["type"], binding["default"]) == (
        "json", "--additional-config", "bool", True,
    )  # fmt: skip
    assert binding["source"].startswith("https://github.com/vllm-project/vllm-ascend/blob/")
    assert "VLLM_ASCEND_ENABLE_DBO" not in settings
    assert "additional_config.weight_nz_mode" not in settings
    table = run("kb", "list", "settings", "--software", "vllm-ascend=0.18")
    assert table.code == 0
    assert "additional_config.enable_cpu_binding" in table.out


def test_without_a_program_the_programs_are_listed(run: Any) -> None:
    found = run("kb", "list", "settings", "--json").json["software"]
    assert {
        "vllm-ascend",
        "vllm",
        "sglang",
        "mindie",
        "mindspeed-llm",
        "megatron-lm",
        "torch-npu",
        "cann",
    } <= set(found)
    assert len(found["vllm-ascend"]) >= 6


def test_a_release_that_was_not_read_is_said(run: Any) -> None:
    ran = run("kb", "list", "settings", "--software", "vllm-ascend=0.13.7", "--json")
    assert ran.json["release"] == "0.13.0"
    assert ran.err.splitlines() == ["note: vllm-ascend 0.13.7 was not read; the nearest release is 0.13.0"]


def test_an_unknown_program_or_release_is_one_line(run: Any) -> None:
    unknown = run("kb", "list", "settings", "--software", "vllm-ascned=0.18")
    assert (unknown.code, unknown.fault) == (2, "no settings of a program named 'vllm-ascned'")
    assert "did you mean vllm-ascend?" in unknown.err
    soon = run("kb", "list", "settings", "--software", "vllm-ascend=soon")
    assert (soon.code, soon.fault) == (2, "'soon' names no release of vllm-ascend")
    other = run("kb", "list", "things")
    assert (other.code, other.fault) == (2, "no list of 'things'")
