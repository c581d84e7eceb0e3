"""Fields of JSON objects, followed through the code that reads them."""

from pathlib import Path

from tools.oracle.settings.mappings import json_fields
from tools.oracle.settings.source import Mined, Sources

ROOTS = {"additional_config": "additional_config", "kv_connector_extra_config": "kv.extra"}


def mined(tmp_path: Path, text: str, variables: dict[str, Mined] | None = None) -> dict[str, Mined]:
    (tmp_path / "config.py").write_text(text)
    found = json_fields(Sources(tmp_path, ["config.py"]), ROOTS, variables or {}, ROOTS.values())
    return {item.key: item for item in found}


def test_fields_are_followed_into_classes(tmp_path: Path) -> None:
    found = mined(
        tmp_path,
        """
LIMIT = 1 << 4
class Config:
    def __init__(self, vllm_config):
        additional_config = vllm_config.additional_config if vllm_config.additional_config is not None else {}
        self.tree = Tree(additional_config.get("tree_config", {}))
        self.spread = Spread(**additional_config.get("spread_config", {}))
        self.limit = int(additional_config.get("limit", LIMIT))
        self.tags = additional_config["tags"]
class Tree:
    _defaults = {"depth": 3, "name": None}
    def __init__(self, config: dict | None = None):
        if config is None:
            config = {}
        self.depth = config.get("depth", self._defaults["depth"])
        self.share: float = config.get("share", half())
class Spread:
    def __init__(self, wide: bool = True, **kwargs):
        self.far = kwargs.get("far", "near")
""",
    )
    assert set(found) == {
        f"additional_config.{name}"
        for name in (
            "tree_config", "tree_config.depth", "tree_config.name", "tree_config.share",
            "spread_config", "spread_config.wide", "spread_config.far", "limit", "tags",
        )
    }  # fmt: skip
    depth = found["additional_config.tree_config.depth"]
    assert (depth.type, depth.default, depth.carrier) == ("int", 3, "--additional-config")
    assert found["additional_config.tree_config"].type == "object"
    assert (
        found["additional_config.tree_config.share"].type,
        found["additional_config.tree_config.share"].stated,
    ) == ("float", False)
    assert (
        found["additional_config.spread_config.wide"].type,
        found["additional_config.spread_config.wide"].default,
    ) == ("bool", True)
    assert found["additional_config.spread_config.far"].default == "near"
    assert found["additional_config.limit"].default == 16


def test_getters_take_over_variables_and_replace_them(tmp_path: Path) -> None:
    variable = Mined(key="TOY_MODE", place="env", path="envs.py", type="int", default=1, stated=True)
    found = mined(
        tmp_path,
        """
class Config:
    def __init__(self, additional_config):
        self.mode = self._get_value(additional_config, "mode", "TOY_MODE", envs.TOY_MODE)
""",
        {"TOY_MODE": variable},
    )
    mode = found["additional_config.mode"]
    assert (mode.type, mode.default) == ("int", 1)
    assert variable.replaced_by == "additional_config.mode"


def test_a_field_that_is_only_refused_is_gone(tmp_path: Path) -> None:
    found = mined(
        tmp_path,
        """
def check(additional_config):
    if "old" in additional_config:
        raise ValueError("additional_config.old has been removed, use additional_config.new.thing")
    if "kept" in additional_config:
        use(additional_config["kept"])
""",
    )
    assert (found["additional_config.old"].gone, found["additional_config.old"].replaced_by) == (
        True,
        "additional_config.new.thing",
    )
    assert not found["additional_config.kept"].gone


def test_nested_objects_of_connectors_are_read(tmp_path: Path) -> None:
    found = mined(
        tmp_path,
        """
class Connector:
    def __init__(self, config):
        self.extra = config.kv_connector_extra_config
        prefill = config.get_from_extra_config("prefill", {})
        self.size = prefill.get("tp_size", 1)
    def later(self):
        return self.extra.get("load_async", False)
""",
    )
    assert set(found) == {"kv.extra.prefill", "kv.extra.prefill.tp_size", "kv.extra.load_async"}
