"""Values that a setting takes, its default by release, and the releases that have it."""

import pytest

from kg.nouns.setting import ResolvedCase, Setting, SettingDefault, SettingPlace
from kg.nouns.values import Value


def setting(**fields: object) -> Setting:
    return Setting(**{"software": "toy", "key": "--size", "place": SettingPlace.FLAG, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "value", "good"),
    [
        ({"type": "int", "low": 1}, "8", True),
        ({"type": "int", "low": 1}, "0", False),
        ({"type": "int"}, "eight", False),
        ({"type": "int"}, "1.5", False),
        ({"type": "float", "high": 1.0}, 1.5, False),
        ({"type": "str", "choices": ("mp", "ray")}, "ray", True),
        ({"type": "str", "choices": ("mp", "ray")}, "horovod", False),
        ({"type": "list"}, "[1,2,4]", True),
        ({"type": "list", "place": SettingPlace.YAML}, "[console, wandb]", True),
        ({"type": "list", "place": SettingPlace.YAML}, "[console", False),
        ({"type": "list", "choices": ("a", "b")}, "a b", True),
        ({"type": "list", "choices": ("a", "b")}, "a c", False),
        ({"type": "int", "place": SettingPlace.JSON}, "true", True),
        ({"type": "object"}, "word", False),
    ],
)
def test_values_are_accepted_by_type_choice_and_range(
    fields: dict[str, object], value: Value, good: bool
) -> None:
    assert setting(**fields).accepts(value) is good


def test_the_default_is_that_of_the_release() -> None:
    item = setting(
        type="bool",
        defaults=(SettingDefault(release="1.0", value=False), SettingDefault(release="2.0", value=True)),
    )
    assert item.is_default("false", "1.5")
    assert not item.is_default("true", "1.5")
    assert item.is_default(1, "2.0rc1") is False
    assert item.is_default(1, "2.0")
    assert item.default_in("0.9") is None


def test_numbers_are_equal_however_they_are_written() -> None:
    item = setting(type="int", defaults=(SettingDefault(release="1.0", value=200),))
    assert item.is_default("200", "1.0")
    assert item.is_default(200.0, "1.0")
    assert not item.is_default("100", "1.0")


def test_an_unset_default_is_no_value_but_none() -> None:
    unset = setting(type="int", defaults=(SettingDefault(release="1.0"),))
    computed = setting(type="int", defaults=(SettingDefault(release="1.0", computed=True),))
    assert unset.is_default(None, "1.0")
    assert not unset.is_default("4", "1.0")
    assert not computed.is_default(None, "1.0")


def test_a_setting_is_there_from_its_first_to_its_last_release() -> None:
    item = setting(since="0.11.0", removed="0.18.0", absent=("0.13.0",))
    assert [item.in_release(name) for name in ("0.10.0", "0.11.0", "0.13.0", "0.17.0", "0.18.0rc1", "0.18.0")] == [
        False, True, False, True, True, False,
    ]  # fmt: skip


def test_an_older_release_took_other_values() -> None:
    old = setting(type="str", choices=("ring",))
    item = setting(type="str", choices=("ring", "tree"), before=(("2.0", old),))
    assert not item.as_in("1.9").accepts("tree")
    assert item.as_in("2.0").accepts("tree")


def test_what_no_program_can_have_is_refused() -> None:
    with pytest.raises(ValueError, match="no type 'number'"):
        setting(type="number")
    with pytest.raises(ValueError, match="before it came"):
        setting(since="2.0", removed="1.0")


@pytest.mark.parametrize(
    ("cases", "value"),
    [
        ([ResolvedCase(value=8)], 8),
        (
            [
                ResolvedCase(when="? and platform == cpu", value=1),
                ResolvedCase(when="plain decoder", value=8),
            ],
            8,
        ),
        ([ResolvedCase(when="--mode == fast", value=16), ResolvedCase(value=8)], 8),
        ([ResolvedCase(when="memory >= 70", value=16), ResolvedCase(value=8)], None),
        ([ResolvedCase(when="?", value=16), ResolvedCase(value=8)], None),
        ([ResolvedCase(value=8, bound="most")], None),
        ([ResolvedCase(computed=True)], None),
    ],
)
def test_an_unset_default_is_what_takes_its_place_where_no_device_decides(
    cases: list[ResolvedCase], value: object
) -> None:
    item = setting(
        type="int",
        defaults=(SettingDefault(release="1.0"),),
        resolved=(("1.0", tuple(cases)), ("2.0", ())),
    )
    found = item.default_in("1.5")
    assert found is not None
    assert found.value == value
    later = item.default_in("2.0")
    assert later is not None
    assert later.value is None
