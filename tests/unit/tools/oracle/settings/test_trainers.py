"""Settings of trainers: argument classes, DeepSpeed's dictionary and Hydra's files."""

from pathlib import Path

from tools.oracle.settings.source import Sources
from tools.oracle.settings.trainers import dictionary_keys, yaml_keys

DICTIONARY = """
STEPS = "steps"
STEPS_DEFAULT = 10
AMP = "amp"
def read(param_dict, other):
    get_scalar_param(param_dict, STEPS, STEPS_DEFAULT)
    get_scalar_param(param_dict[AMP], "enabled", False)
    get_scalar_param(other, "not_of_the_file", 1)
    return AMP in param_dict.keys()
"""


def test_keys_of_a_dictionary_come_with_their_defaults(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text(DICTIONARY)
    found = {
        item.key: (item.type, item.default) for item in dictionary_keys(Sources(tmp_path, ["*.py"]), "x.json")
    }
    assert found == {"steps": ("int", 10), "amp.enabled": ("bool", False), "amp": ("any", None)}


def test_keys_that_a_function_reads_of_a_part_stand_under_it(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text(
        "def whole(param_dict):\n"
        "    sub_param_dict = param_dict['data']\n"
        "    return sampling(sub_param_dict)\n"
        "def sampling(param_dict):\n"
        "    part = param_dict.get('sampling', {})\n"
        "    get_scalar_param(param_dict['sampling'], 'workers', 2)\n"
        "    return learning(part)\n"
        "def learning(param_dict):\n"
        "    return get_scalar_param(param_dict, 'rate', 1)\n"
    )
    found = {item.key: item.default for item in dictionary_keys(Sources(tmp_path, ["*.py"]), "x.json")}
    assert found == {"data.sampling.workers": 2, "data.sampling.rate": 1}


def test_hydra_files_are_composed(tmp_path: Path) -> None:
    (tmp_path / "optim").mkdir()
    (tmp_path / "optim" / "adam.yaml").write_text("lr: 0.1\nextra: {}\n")
    (tmp_path / "optim" / "sgd.yaml").write_text("momentum: 0\n")
    (tmp_path / "train.yaml").write_text(
        "defaults:\n  - optim@actor.optim: adam\n  - _self_\nname: ${x}\nsteps: 3\n"
    )
    found = {item.key: item for item in yaml_keys(tmp_path, ["train.yaml"])}
    assert set(found) == {
        "actor.optim", "actor.optim.lr", "actor.optim.extra", "actor.optim.momentum", "name", "steps",
    }  # fmt: skip
    assert found["actor.optim.extra"].open
    assert (found["name"].type, found["name"].stated) == ("any", False)
    assert (found["steps"].type, found["steps"].default, found["steps"].line) == ("int", 3, 5)
    assert found["actor.optim.lr"].path == "optim/adam.yaml"


def test_scalars_are_what_the_programs_read_in_them(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text('eps: 1e-8\nname: "1e-8"\nseed: None\n')
    found = {item.key: (item.type, item.default) for item in yaml_keys(tmp_path, ["base.yaml"])}
    assert found == {"eps": ("float", 1e-8), "name": ("str", "1e-8"), "seed": ("any", None)}


def test_a_file_written_whole_goes_before_its_parts(tmp_path: Path) -> None:
    (tmp_path / "_generated_train.yaml").write_text("whole: 1\n")
    (tmp_path / "train.yaml").write_text("part: 1\n")
    assert [item.key for item in yaml_keys(tmp_path, ["_generated_train.yaml", "train.yaml"])] == ["whole"]
