"""Environment variables read from tables, classes and single reads."""

from pathlib import Path

import pytest

from tools.oracle.settings.environment import native_variables, variables
from tools.oracle.settings.source import Mined, Sources


def mined(tmp_path: Path, text: str) -> dict[str, Mined]:
    (tmp_path / "envs.py").write_text(text)
    return {item.key: item for item in variables(Sources(tmp_path, ["envs.py"]), ["HOME"])}


@pytest.mark.parametrize(
    ("getter", "kind", "default"),
    [
        ('lambda: bool(int(os.getenv("X_Y", "1")))', "bool", True),
        ('lambda: int(os.getenv("X_Y", 3))', "int", 3),
        ('lambda: float(os.environ.get("X_Y", "0.5"))', "float", 0.5),
        ('lambda: os.getenv("X_Y", "false").lower()', "bool", False),
        ('lambda: os.getenv("X_Y", "0").strip().lower() in ("1", "true")', "bool", False),
        ('lambda: os.getenv("X_Y", "1") != "0"', "bool", True),
        ('lambda: os.getenv("X_Y")', "str", None),
        ('env_with_choices("X_Y", "a", ["a", "b"])', "str", "a"),
    ],
)
def test_a_table_gives_type_and_default(tmp_path: Path, getter: str, kind: str, default: object) -> None:
    item = mined(tmp_path, f'import os\nenv_variables: dict = {{\n    "X_Y": {getter},\n}}\n')["X_Y"]
    assert (item.type, item.stated, item.default, item.line) == (kind, True, default, 3)


def test_choices_and_declared_types_count(tmp_path: Path) -> None:
    found = mined(
        tmp_path,
        """
import os
if TYPE_CHECKING:
    A_PORT: int | None = None
    B_WAY: Literal["x", "y"] = "x"
environment_variables = {
    "A_PORT": lambda: port(),
    "B_WAY": lambda: os.getenv("B_WAY", "x"),
    "C_WAY": env_with_choices("C_WAY", None, ["a", "b"]),
}
""",
    )
    assert (found["A_PORT"].type, found["A_PORT"].default, found["A_PORT"].stated) == ("int", None, True)
    assert found["B_WAY"].choices == ("x", "y")
    assert found["C_WAY"].choices == ("a", "b")


def test_fields_of_a_class_and_single_reads_are_found(tmp_path: Path) -> None:
    found = mined(
        tmp_path,
        """
import os
NAME = "NAMED_ELSEWHERE"
class Envs:
    FIELD_ONE = EnvBool(True)
    FIELD_TWO = EnvIntWithAlias(4, deprecated_name="FIELD_OLD")
def read():
    a = get_bool_env_var("READ_ONE", "false")
    b = int(os.environ.get("READ_TWO", "7"))
    c = os.environ["READ_THREE"]
    d = os.getenv(NAME, "n")
    e = os.environ["HOME"]
    os.environ["WRITTEN"] = "1"
    if os.getenv("DEAD_ONE") is not None:
        logger.warning("DEAD_ONE does nothing")
""",
    )
    assert set(found) == {"FIELD_ONE", "FIELD_TWO", "READ_ONE", "READ_TWO", "READ_THREE", "NAMED_ELSEWHERE"}
    assert (found["FIELD_ONE"].type, found["FIELD_ONE"].default) == ("bool", True)
    assert found["FIELD_TWO"].aliases == ("FIELD_OLD",)
    assert (found["READ_ONE"].type, found["READ_ONE"].default) == ("bool", False)
    assert (found["READ_TWO"].type, found["READ_TWO"].default) == ("int", 7)


def test_native_sources_name_variables(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text(
        'x = std::getenv("ONE_TWO");\nint n = get_value_from_env("THREE_FOUR", 5);\n'
    )
    found = {item.key: item for item in native_variables(tmp_path, ["*.cpp"])}
    assert (found["ONE_TWO"].type, found["ONE_TWO"].stated, found["ONE_TWO"].line) == ("any", False, 1)
    assert (found["THREE_FOUR"].type, found["THREE_FOUR"].default, found["THREE_FOUR"].line) == ("int", 5, 2)


def test_a_reader_named_behind_a_variable_gives_its_type(tmp_path: Path) -> None:
    (tmp_path / "features.py").write_text(
        "def flags():\n    return [Env('TOY_ON', boolean), Env('TOY_STEPS', list_of(int)), Env('TOY_SIZE', int)]\n"
    )
    found = {item.key: item.type for item in variables(Sources(tmp_path, ["*.py"]))}
    assert found == {"TOY_ON": "bool", "TOY_STEPS": "list", "TOY_SIZE": "int"}


def test_of_a_variable_that_the_program_sets_where_it_is_not_none_is_no_default(tmp_path: Path) -> None:
    found = mined(
        tmp_path,
        "import os\n\n\ndef begin():\n    if os.environ.get('X_SET') is None:\n        os.environ['X_SET'] = '1'\n"
        "    return os.environ.get('X_READ')\n",
    )
    assert (found["X_SET"].stated, found["X_READ"].stated) == (False, True)


def test_a_value_is_overridden_by_the_variable_of_its_name_or_by_the_one_that_it_names(
    tmp_path: Path,
) -> None:
    found = mined(
        tmp_path,
        """
class Value:
    def __init__(self, name, dependencies, env_var=None, env_var_type=boolean):
        self.env_var = env_var if env_var is not None else 'VLLM_' + name.upper()

def features():
    return [
        Value('skip_warmup', False),
        Value('chunks', 8192, env_var='VLLM_ROW_CHUNKS', env_var_type=int),
        Value('defrag', Enabled('use_contiguous_pa')),
    ]
""",
    )
    assert {key: (item.type, item.default, item.stated) for key, item in found.items()} == {
        "VLLM_SKIP_WARMUP": ("bool", False, True),
        "VLLM_ROW_CHUNKS": ("int", 8192, True),
        "VLLM_DEFRAG": ("bool", None, False),
    }
