"""The registry of settings: spellings, releases, programs beneath, and what ships."""

import pytest

from kg.errors import UnknownEntityError
from kg.nouns.look_up import Standing
from kg.nouns.setting import SettingPlace
from kg.terms import setting_registry as settings
from kg.terms.setting_registry import SettingRegistry, registry, softwares

CONTENT = {
    "software": "toy",
    "source": "https://example.org/{ref}/{path}",
    "abbreviates": True,
    "releases": [["1.0", "v1.0"], ["2.0rc1", "v2.0rc1"], ["2.0", "v2.0"], ["main@0123abcd", "0123abcdef"]],
    "beneath": {},
    "settings": [
        {"key": "--max-model-len", "place": "flag", "type": "int", "aliases": ["-l"], "at": "args.py#L1"},
        {"key": "--enable-cache", "place": "flag", "type": "bool", "off": "--no-enable-cache", "default": [["1.0", False], ["2.0", True]], "at": "args.py#L2"},
        {"key": "--graph-config", "place": "flag", "type": "object", "at": "args.py#L3"},
        {"key": "graph_config.mode", "place": "json", "type": "str", "choices": ["FULL", "NONE"], "in": "--graph-config", "at": "config.py#L4"},
        {"key": "--overrides", "place": "flag", "type": "object", "open": True, "at": "args.py#L5"},
        {"key": "runner", "place": "yaml", "type": "object", "open": True, "at": "args.py#L9"},
        {"key": "runner.epochs", "place": "yaml", "type": "int", "removed": "2.0", "at": "args.py#L9"},
        {"key": "TOY_NEW", "place": "env", "type": "bool", "since": "2.0", "at": "envs.py#L6"},
        {"key": "TOY_OLD", "place": "env", "type": "bool", "removed": "2.0", "replaced_by": "--enable-cache", "at": "envs.py#L7"},
        {"key": "--ring", "place": "flag", "type": "str", "choices": ["a", "b"], "before": [["2.0", {"type": "str", "choices": ["a"]}]], "at": "args.py#L8"},
    ],
}  # fmt: skip


@pytest.fixture
def toy() -> SettingRegistry:
    return SettingRegistry(CONTENT)


@pytest.mark.parametrize(
    "spelling", ["--max-model-len", "--max_model_len", "max_model_len", "max-model-len", "-l"]
)
def test_a_flag_is_found_by_any_spelling(toy: SettingRegistry, spelling: str) -> None:
    found = toy.at("2.0").look_up(spelling)
    assert found.standing is Standing.TAKEN
    assert found.setting is not None
    assert found.setting.key == "--max-model-len"


def test_a_spelling_of_two_settings_is_of_the_one_that_the_release_has() -> None:
    gone = {"key": "--draft_model", "place": "flag", "type": "str", "removed": "2.0", "at": "args.py#L1"}
    new = {"key": "--spec-model", "place": "flag", "type": "str", "aliases": ["--draft-model"], "since": "2.0", "at": "args.py#L2"}  # fmt: skip
    for entries in ([gone, new], [new, gone]):
        toy = SettingRegistry({**CONTENT, "settings": entries})
        assert toy.at("2.0").look_up("--draft-model").standing is Standing.TAKEN
        found = toy.at("1.0").look_up("--draft-model")
        assert found.setting is not None
        assert (found.standing, found.setting.key) == (Standing.TAKEN, "--draft_model")


@pytest.mark.parametrize(
    "spelling", ["graph_config.mode", "graph-config.mode", "--graph-config.mode", "graph_config[0].mode"]
)
def test_a_field_is_found_by_its_path(toy: SettingRegistry, spelling: str) -> None:
    found = toy.at("2.0").look_up(spelling, SettingPlace.JSON)
    assert found.usable
    assert found.setting is not None
    assert found.setting.carrier == "--graph-config"


def test_a_field_that_no_class_has_is_unknown(toy: SettingRegistry) -> None:
    found = toy.at("2.0").look_up("graph_config.moed")
    assert found.standing is Standing.UNKNOWN
    assert "graph_config.mode" in found.nearest
    assert "did you mean" in str(found)


def test_fields_of_an_open_object_are_passed_on(toy: SettingRegistry) -> None:
    found = toy.at("2.0").look_up("overrides.hidden_size")
    assert found.standing is Standing.PASSED_ON
    assert not found.is_default(1)


def test_variables_are_found_as_they_are_written_only(toy: SettingRegistry) -> None:
    assert toy.at("2.0").look_up("TOY_NEW").usable
    assert toy.at("2.0").look_up("toy_new").standing is Standing.UNKNOWN
    assert toy.at("2.0").look_up("TOY-NEW", SettingPlace.ENV).standing is Standing.UNKNOWN


def test_a_name_that_another_setting_took_over_is_taken(toy: SettingRegistry) -> None:
    renamed = [
        {"key": "OLD_NAME", "place": "env", "removed": "2.0", "at": "envs.py"},
        {"key": "NEW_NAME", "place": "env", "since": "2.0", "aliases": ["OLD_NAME"], "at": "envs.py"},
    ]
    registry = SettingRegistry({**CONTENT, "settings": renamed})
    for release, key in (("1.0", "OLD_NAME"), ("2.0", "NEW_NAME")):
        found = registry.at(release).look_up("OLD_NAME")
        assert found.standing is Standing.TAKEN
        assert found.setting is not None
        assert found.setting.key == key


def test_the_place_must_be_right(toy: SettingRegistry) -> None:
    assert toy.at("2.0").look_up("--max-model-len", SettingPlace.ENV).standing is Standing.UNKNOWN
    assert toy.at("2.0").look_up("TOY_NEW", SettingPlace.FLAG).standing is Standing.UNKNOWN


def test_a_setting_may_not_be_there_yet_or_no_longer(toy: SettingRegistry) -> None:
    young, old = toy.at("1.0").look_up("TOY_NEW"), toy.at("2.0").look_up("TOY_OLD")
    assert (young.standing, young.usable) == (Standing.NOT_YET, False)
    assert str(young) == "toy TOY_NEW: not yet, since 2.0"
    assert old.standing is Standing.REMOVED
    assert str(old) == "toy TOY_OLD: removed in 2.0, replaced by --enable-cache"
    assert toy.at("2.0rc1").look_up("TOY_OLD").usable


def test_the_flag_that_switches_off_sets_false(toy: SettingRegistry) -> None:
    off = toy.at("1.0").look_up("--no-enable_cache")
    assert off.negated
    assert off.is_default(True)
    assert not toy.at("2.0").look_up("--no-enable-cache").is_default(True)
    assert toy.at("2.0").look_up("--enable-cache").is_default("true")


def test_the_beginning_of_one_flag_is_that_flag(toy: SettingRegistry) -> None:
    found = toy.at("2.0").look_up("--max-model")
    assert found.abbreviation
    assert toy.at("2.0").look_up("--m").abbreviation
    assert toy.at("2.0").look_up("--").standing is Standing.UNKNOWN


def test_a_flag_of_a_program_beneath_is_no_abbreviation_of_one_above() -> None:
    found = registry("ms-swift").at().look_up("--deepspeed", SettingPlace.FLAG)  # one parser has both
    assert found.setting is not None
    assert (found.setting.key, found.setting.software) == ("--deepspeed", "transformers")
    assert registry("ms-swift").at().look_up("--deepspeed_autotp").abbreviation


def test_values_are_those_of_the_release(toy: SettingRegistry) -> None:
    found = toy.at("1.0").look_up("--ring").setting
    assert found is not None
    assert not found.accepts("b")


@pytest.mark.parametrize(
    ("asked", "release", "noted"),
    [
        ("", "main@0123abcd", False),
        ("v2.0", "2.0", False),
        ("2", "2.0", False),
        ("2.0rc1", "2.0rc1", False),
        ("main@ffff", "main@0123abcd", True),
        ("3.1", "2.0", True),
    ],
)
def test_a_release_that_was_not_read_is_said(
    toy: SettingRegistry, asked: str, release: str, noted: bool
) -> None:
    found = toy.at(asked)
    assert found.release == release
    assert bool(found.note) is noted
    if noted:
        assert release in found.note


@pytest.mark.parametrize(("asked", "bracketed"), [("", True), ("1.5", True), ("0.5", False), ("3.1", True)])
def test_a_release_stands_between_those_that_were_read_or_not(
    toy: SettingRegistry, asked: str, bracketed: bool
) -> None:
    assert toy.at(asked).is_bracketed is bracketed


def test_what_names_no_release_is_refused(toy: SettingRegistry) -> None:
    with pytest.raises(UnknownEntityError, match="names no release"):
        toy.at("soon")


def test_the_source_is_the_line_in_the_newest_release_that_has_it(toy: SettingRegistry) -> None:
    sources = {item.key: item.source for item in toy.settings}
    assert sources["TOY_OLD"] == "https://example.org/v2.0rc1/envs.py#L7"
    assert sources["TOY_NEW"] == "https://example.org/0123abcdef/envs.py#L6"


def test_programs_beneath_answer_too(monkeypatch: pytest.MonkeyPatch) -> None:
    upper = {**CONTENT, "software": "upper", "releases": [["5.0", "v5"]], "beneath": {"toy": {"5.0": "1.0"}}, "settings": [
        {"key": "--ring", "place": "flag", "choices": ["c"], "at": "a.py"},
    ]}  # fmt: skip
    monkeypatch.setattr(settings, "softwares", lambda: ("toy", "upper"))
    monkeypatch.setattr(
        settings, "registry", lambda name: SettingRegistry(upper if name == "upper" else CONTENT)
    )
    stack = settings.registry("upper").at("5.0")
    assert stack.look_up("TOY_NEW").standing is Standing.NOT_YET
    ring = stack.look_up("--ring").setting
    assert ring is not None
    assert (ring.software, ring.type, ring.choices) == ("toy", "str", ("c", "a"))


def test_an_unknown_program_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownEntityError, match="no settings") as failed:
        registry("vllm-ascned")
    assert failed.value.hint == "did you mean vllm-ascend?"


@pytest.mark.parametrize("software", softwares())
def test_what_ships_is_sound(software: str) -> None:
    content = registry(software)
    assert content.settings
    keys = [(item.place, item.key) for item in content.settings]
    assert len(keys) == len(set(keys))
    for item in content.settings:
        assert item.source.startswith("https://")
        assert item.since is None or item.since in content.releases
        assert item.removed is None or item.removed in content.releases
        assert any(item.in_release(name) for name in content.releases)
        for default in item.defaults:
            assert default.release in content.releases
            assert not str(default.value).startswith(("/root", "/home", "/work")), item.key
        if item.place in {SettingPlace.JSON, SettingPlace.YAML}:
            assert item.carrier


@pytest.mark.parametrize(
    ("release", "key", "standing"),
    [
        ("0.11.0", "VLLM_ASCEND_ENABLE_DBO", Standing.TAKEN),
        ("0.18.0", "VLLM_ASCEND_ENABLE_DBO", Standing.REMOVED),
        ("0.23.0", "VLLM_ASCEND_ENABLE_FLASHCOMM1", Standing.TAKEN),
        ("main", "VLLM_ASCEND_ENABLE_FLASHCOMM1", Standing.REMOVED),
        ("0.18", "compilation_config.cudagraph_mode", Standing.TAKEN),
        ("0.18", "--no-enable-prefix-caching", Standing.TAKEN),
        ("0.18", "HCCL_OP_EXPANSION_MODE", Standing.TAKEN),
        ("main", "VLLM-ASCEND_ENABLE_NZ", Standing.UNKNOWN),
    ],
)
def test_vllm_ascend_is_as_its_history_says(release: str, key: str, standing: Standing) -> None:
    assert registry("vllm-ascend").at(release).look_up(key).standing is standing


@pytest.mark.parametrize(
    ("release", "key", "value", "default"),
    [
        ("0.18.0", "additional_config.enable_cpu_binding", True, True),
        ("0.11.0", "additional_config.enable_cpu_binding", True, False),
        ("0.23.0", "HCCL_BUFFSIZE", "200", True),
        ("0.23.0", "HCCL_BUFFSIZE", "1024", False),
        ("0.23.0", "VLLM_ASCEND_ENABLE_NZ", "1", True),
        ("0.23.0", "ASCEND_LAUNCH_BLOCKING", "0", True),
        ("0.23.0", "TASK_QUEUE_ENABLE", "2", False),
    ],
)
def test_defaults_are_known_by_release(release: str, key: str, value: str, default: bool) -> None:
    assert registry("vllm-ascend").at(release).look_up(key).is_default(value) is default


@pytest.mark.parametrize(
    ("software", "named", "read"),
    [
        ("sglang", "0.5", registry("sglang").releases[-1]),
        ("vllm", "0.12", "0.12.0"),
        ("vllm", "0.15", "0.15.0"),
        ("vllm", "0.12.7", "0.12.0"),
        ("megatron-lm", "core_v0.15.0", "0.15.0"),
    ],
)
def test_a_series_means_its_newest_release(software: str, named: str, read: str) -> None:
    assert registry(software).at(named).release == read


def test_a_flag_that_became_the_off_switch_of_another_is_that_where_it_is() -> None:
    settings = registry("llama.cpp")
    old, new = (settings.at(name).look_up("--no-mmap") for name in ("b6122", "b9842"))
    assert old.setting
    assert (old.setting.key, old.usable, old.negated) == ("--no-mmap", True, False)
    assert new.setting
    assert (new.setting.key, new.usable, new.negated) == ("--mmap", True, True)


def test_fields_are_still_added_to_a_section_whose_own_fields_have_names_now() -> None:
    content = {
        "software": "x", "releases": [["1.0", "a"], ["2.0", "b"]], "beneath": {}, "source": "{ref}{path}",
        "settings": [
            {"key": "a.more", "place": "yaml", "type": "object", "open": True, "removed": "2.0"},
            {"key": "a.more.level", "place": "yaml", "since": "2.0"},
            {"key": "a.gone", "place": "yaml", "type": "object", "open": True, "removed": "2.0"},
        ],
    }  # fmt: skip
    release = SettingRegistry(content).at("2.0")
    standings = [release.look_up(key, suggest=False).standing for key in ("a.more.x", "a.more", "a.gone.x")]
    assert standings == [Standing.PASSED_ON, Standing.REMOVED, Standing.REMOVED]


def test_a_field_that_a_schema_lost_still_goes_into_a_section_that_takes_any_key(
    toy: SettingRegistry,
) -> None:
    standings = [toy.at(release).look_up("runner.epochs").standing for release in ("1.0", "2.0")]
    assert standings == [Standing.TAKEN, Standing.PASSED_ON]
    look_up = registry("mindformers").at("2.1.0").look_up
    assert look_up("runner_config.sink_mode").usable
