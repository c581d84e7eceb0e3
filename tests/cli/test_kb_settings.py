"""``tunegraph kb list settings``: what a release of a program takes."""

from pathlib import Path
from typing import Any

import pytest

from kg.terms.setting_registry import use_own


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


def test_a_setting_is_said_in_words_where_they_are_known(run: Any) -> None:
    said = ("kb", "list", "settings", "--software", "vllm=0.33")
    means = {item["key"]: item["means"] for item in run(*said, "--json").json["settings"] if "means" in item}
    assert means["--max-num-seqs"] == "requests at once in an engine at most"  # a fact
    assert means["VLLM_ROCM_USE_AITER"] == "AITER kernels on AMD"  # what switches it on
    assert "speculative_config.method" not in means  # a strategy sets one of its values
    assert means["--mm-encoder-tp-mode"] == "how the vision encoder is divided"  # a pattern
    assert means["--host"].startswith("belongs to the site")  # its purpose
    assert "单引擎最大并发请求数" in run("--lang", "zh", *said).out


def test_two_releases_are_compared(run: Any) -> None:
    said = ("kb", "diff", "--software", "vllm=0.18", "--software", "vllm=0.33")
    found = run(*said, "--json").json
    assert (found["software"], found["read"]) == ("vllm", ["0.18.0", "0.33.0"])
    changes = {(item["what"], item["key"]): item for item in found["changes"]}
    gone = changes["removed", "--calculate-kv-scales"]
    assert (gone["since"], gone["source"].split("/blob/")[1].split("/")[0]) == ("0.28.0", "v0.27.1")
    assert changes["default", "VLLM_USE_FLASHINFER_SAMPLER"]["after"] == "True"
    text = run(*said).out.splitlines()
    assert text[0] == "settings of vllm: from 0.18.0 to 0.33.0"
    assert text[1] == "replaced (18): 2 fields; 16 variables"
    assert len(text) < 50
    assert "VLLM_MXFP4_USE_MARLIN, VLLM_USE_FLASHINFER_MOE_FP16," in "\n".join(text)
    assert "  --gpu-memory-utilization: 0.9 -> 0.92  [0.20.0]" in text
    assert text[-1].endswith("more are named with --all")
    text = run(*said, "--all").out.splitlines()
    named = sum(line.startswith("  ") and "  [" in line for line in text)
    assert named > 500
    back = run("kb", "diff", "--software", "vllm=0.33", "--software", "vllm=0.18", "--all").out.splitlines()
    assert back[0] == "settings of vllm: from 0.33.0 to 0.18.0"
    assert "  VLLM_USE_FLASHINFER_SAMPLER: True -> None  [0.21.0]" in back
    assert "  VLLM_USE_FLASHINFER_SAMPLER: None -> True  [0.21.0]" in text
    chinese = run("--lang", "zh", *said).out.splitlines()
    assert chinese[:2] == ["vllm 的设置：从 0.18.0 到 0.33.0", "已有替代（18）：2 个字段；16 个环境变量"]
    ascend = run("kb", "diff", "--software", "vllm-ascend=0.11", "--software", "vllm-ascend=0.18")
    assert "it runs on vllm, which goes from 0.11.0 to 0.18.0" in " ".join(ascend.err.split())
    same = run("kb", "diff", "--software", "vllm=0.18", "--software", "vllm=0.18.0")
    assert same.out.splitlines()[1:] == ["nothing differs"]


def test_what_names_no_two_releases_is_refused(run: Any) -> None:
    for words, says in (
        (("vllm=0.18",), "'vllm=0.18' names no two releases"),
        (("vllm=0.18", "sglang=0.5"), "vllm and sglang are two programs"),
        (("vlm=0.18", "vlm=0.19"), "no settings of a program named 'vlm'"),
        (("vllm=0.18", "vllm=soon"), "'soon' names no release of vllm"),
    ):
        ran = run("kb", "diff", *(part for word in words for part in ("--software", word)))
        assert (ran.code, ran.fault) == (2, says)
    both = run("kb", "diff", "v1", "--software", "vllm=0.18")
    assert (both.code, both.fault) == (2, "diff takes a version, or --software with two releases")


def test_own_entries_of_the_registry_win(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "regs").mkdir()
    (tmp_path / "tunegraph.toml").write_text('settings = "regs"\n')
    (tmp_path / "regs" / "vllm.json").write_text(
        '{"settings": [{"key": "--max-num-seqs", "place": "flag", "type": "int", "high": 100}]}'
    )
    (tmp_path / "serve.sh").write_text("vllm serve m --max-num-seqs 300\n")
    monkeypatch.chdir(tmp_path)
    try:
        ran = run("check", "serve.sh")
        assert "at most 100" in " ".join(ran.out.split())
        assert "--max-num-seqs: high 100 is yours and counts" in " ".join(ran.err.split())
        (tmp_path / "regs" / "vllm.json").write_text('{"settings": [{"place": "flag"}]}')
        broken = run("kb", "list", "settings", "--software", "vllm")
        assert broken.code == 2
        assert broken.fault.endswith("vllm.json: setting 1 has no key")
        (tmp_path / "tunegraph.toml").write_text('settings = "absent"\n')
        assert run("kb", "list", "settings").code == 2
    finally:
        use_own(tmp_path / "none")
