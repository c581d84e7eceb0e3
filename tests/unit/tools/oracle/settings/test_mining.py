"""A release as a whole."""

from pathlib import Path
from typing import Any

import pytest

from tools.oracle.settings.mining import mine
from tools.oracle.settings.plans import PLANS, SYSTEM, Plan
from tools.oracle.settings.source import Mined


def mined(folder: Path, release: str = "main", **plan: Any) -> dict[str, Mined]:
    """Settings of a toy by key."""
    return {item.key: item for item in mine(Plan(software="toy", source="", **plan), folder, release)}


def test_sections_of_a_file_are_objects_with_the_fields_of_their_class(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text(
        "from pydantic import BaseModel, Field\n"
        "class Shards(BaseModel):\n"
        "    model_config = dict(extra='forbid')\n"
        "    count: int = Field(1, ge=0, alias='shard_count')\n"
        "    old: bool = Field(None, json_schema_extra={'deprecated': True, 'new_param': 'count'})\n"
    )
    found = mined(
        tmp_path,
        library=("config.py",),
        sections={"shards": ("Shards",)},
        places={"json": "toy.json"},
        file="json",
    )
    assert found["shards"].forbids
    count = found["shards.shard_count"]
    assert (count.type, count.default, count.low, count.aliases) == ("int", 1, 0, ("shards.count",))
    assert found["shards.old"].replaced_by == "shards.count"


def test_a_class_may_derive_from_one_of_its_name_in_another_repository(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    (inner / "core").mkdir(parents=True)
    (tmp_path / "commit").write_text("abc123\n")
    (inner / "core" / "config.py").write_text("class Layers:\n    count: int = 4\n")
    (inner / "other.py").write_text("class Layers:\n    none: int = 0\n")
    (tmp_path / "own.py").write_text(
        "from core import Layers as Above\nclass Layers(Above):\n    wide: bool = False\n"
        "class Rows(Layers):\n    size: int = 1\n"
    )
    inside = ("inner", "https://host/{ref}/{path}", "commit")
    classes: dict[str, tuple[str, ...]] = {"model": ("Rows",)}
    places = {"yaml": "x"}
    found = mined(tmp_path, library=("own.py", "inner"), sections=classes, submodule=inside, places=places)
    core = "https://host/abc123/core/config.py#L2"
    assert {key: item.path for key, item in found.items()} == {
        "model.count": core,
        "model.wide": "own.py",
        "model.size": "own.py",
    }


TREE = """
from dataclasses import dataclass, field
class Base:
    @dataclass
    class Config:
        rate: float = 0.1
class Loader(Base):
    pass
class Trainer:
    @dataclass
    class Config:
        steps: int = 10
        loader: Base.Config = field(default_factory=Loader.Config)
"""


def test_a_truth_of_a_section_takes_a_value_where_its_plan_says_so(tmp_path: Path) -> None:
    (tmp_path / "c.py").write_text("class Data:\n    packed: bool = False\n    size: int = 1\n")
    found = mined(
        tmp_path,
        library=("*.py",),
        sections={"data": ("Data",)},
        places={"flag": ""},
        valued=True,
    )
    assert {key: item.nargs for key, item in found.items()} == {"--data.packed": "?", "--data.size": None}


def test_classes_inside_others_make_flags_with_dots(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text(TREE)
    found = mined(
        tmp_path,
        library=("*.py",),
        sections={"": ("JobConfig", "Trainer.Config")},
        places={"flag": ""},
    )
    assert {key: (item.type, item.default) for key, item in found.items()} == {
        "--steps": ("int", 10),
        "--loader.rate": ("float", 0.1),
    }


def test_what_a_constructor_takes_is_set_in_code(tmp_path: Path) -> None:
    (tmp_path / "planner.py").write_text(
        "class Planner(Base):\n"
        "    def __init__(self, topology: Topology, batch: int | None = None, *, bins=100, debug: bool = False, **rest):\n"
        "        pass\n"
        "class Wrapper:\n"
        "    def __init__(self, content):\n"
        "        pass\n"
    )
    found = mined(
        tmp_path,
        library=("*.py",),
        sections={"Planner": ("Planner",), "Wrapper": ("Wrapper",)},
        places={"code": ""},
    )
    assert {key: (item.place, item.type, item.default) for key, item in found.items()} == {
        "Planner.topology": ("code", "any", None),
        "Planner.batch": ("code", "int", None),
        "Planner.bins": ("code", "int", 100),
        "Planner.debug": ("code", "bool", False),
    }


def test_a_class_adds_types_to_a_file_of_defaults_but_no_keys(tmp_path: Path) -> None:
    (tmp_path / "base.yml").write_text("steps: 5\nmodel: null\n")
    (tmp_path / "types.py").write_text(
        "class All:\n    steps: float = 1\n    model: str = 'a'\n    derived: int = 0\n"
    )
    found = mined(
        tmp_path,
        library=("*.py",),
        hydra=("base.yml",),
        sections={"": ("All",)},
        places={"yaml": "base.yml"},
    )
    assert {key: (item.type, item.default) for key, item in found.items()} == {
        "steps": ("float", 5),
        "model": ("str", None),
    }


def test_a_default_that_programs_disagree_on_is_none_of_theirs(tmp_path: Path) -> None:
    for name, default in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.py").write_text(
            f"import argparse\nparser = argparse.ArgumentParser()\n"
            f'parser.add_argument("--steps", type=int, default={default})\n'
            f'parser.add_argument("--seed", type=int, default=7)\n'
        )
    found = mined(tmp_path, arguments=("a.py", "b.py"), several=True)
    assert {key: item.stated for key, item in found.items()} == {"--seed": True, "--steps": False}


def test_facts_of_pages_are_added_to_what_sources_leave_open(tmp_path: Path) -> None:
    (tmp_path / "envs.py").write_text('import os\nVALUE = os.environ["TOY"]\n')
    facts = {"TOY": {"choices": [0, 1], "default": 1}}
    [item] = mined(tmp_path, environment=("*.py",), facts=facts).values()
    assert (item.choices, item.default, item.stated) == ((0, 1), 1, True)


@pytest.mark.parametrize(("release", "conflicts"), [("1.1", ()), ("1.2", ("a",))])
def test_a_fact_may_be_true_from_a_release_on(tmp_path: Path, release: str, conflicts: object) -> None:
    (tmp_path / "envs.py").write_text('import os\nVALUE = os.environ["TOY"]\n')
    facts = {"TOY": {"since": "1.2", "conflicts": ["a"]}}
    [item] = mined(tmp_path, release, environment=("*.py",), facts=facts).values()
    assert item.conflicts == conflicts


def test_plans_are_read_from_their_table() -> None:
    assert PLANS["vllm"].source == "https://github.com/vllm-project/vllm/blob/{ref}/{path}"
    assert PLANS["vllm"].dotted
    assert PLANS["torch-npu"].facts["TASK_QUEUE_ENABLE"]["default"] == 1
    assert "PATH" in SYSTEM
