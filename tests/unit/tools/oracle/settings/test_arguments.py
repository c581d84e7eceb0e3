"""Flags read from parsers."""

from pathlib import Path

from tools.oracle.settings.arguments import flags
from tools.oracle.settings.class_flags import annotated_flags
from tools.oracle.settings.source import Mined, Sources


def mined(tmp_path: Path, text: str) -> dict[str, Mined]:
    (tmp_path / "args.py").write_text(text)
    sources = Sources(tmp_path, ["args.py"])
    return {item.key: item for item in (*flags(sources), *annotated_flags(sources))}


def test_a_flag_has_type_default_choices_and_line(tmp_path: Path) -> None:
    found = mined(
        tmp_path,
        """
WAYS = ["ring", "tree"]
class Args:
    width: int = 4 * 2
def add(parser):
    parser.add_argument("-w", "--width", type=int, default=Args.width)
    parser.add_argument("--way", choices=WAYS + ["mesh"], default="ring")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--no-fuse", action="store_false", dest="fuse")
    parser.add_argument("--names", nargs="+", type=str)
    parser.add_argument("--where", default=somewhere())
    parser.add_argument("model")
""",
    )
    assert set(found) == {"--width", "--way", "--fast", "--no-fuse", "--names", "--where"}
    width = found["--width"]
    assert (width.type, width.default, width.aliases, width.line) == ("int", 8, ("-w",), 6)
    assert found["--way"].choices == ("ring", "tree", "mesh")
    assert (found["--way"].type, found["--way"].default) == ("str", "ring")
    assert (found["--fast"].type, found["--fast"].default) == ("bool", False)
    assert (found["--no-fuse"].type, found["--no-fuse"].default) == ("bool", False)
    assert (found["--names"].type, found["--names"].stated, found["--names"].default) == ("list", True, None)
    assert not found["--where"].stated


def test_options_of_click_are_flags(tmp_path: Path) -> None:
    found = mined(
        tmp_path,
        """
class Build(BaseModel):
    batch: int = Field(default=64)
@click.option("--rows", "--batch_rows", type=int, default=Build.model_fields["batch"].default)
@click.option("--way", type=Known(["ring", "tree"], {"r": "ring"}), default="ring")
@click.option("--kind", type=click.Choice(["a", "b"]), default="a")
@click.option("--fast", is_flag=True, default=False)
@click.option("--where", type=click.Path(exists=True), multiple=True, default=None)
def serve(rows, way, kind, fast, where):
    pass
""",
    )
    assert (found["--rows"].default, found["--rows"].aliases) == (64, ("--batch_rows",))
    assert (found["--kind"].type, found["--kind"].choices) == ("str", ("a", "b"))
    assert (found["--fast"].type, found["--fast"].default) == ("bool", False)
    assert found["--where"].type == "list"


def test_a_deprecated_flag_names_its_successor(tmp_path: Path) -> None:
    found = mined(
        tmp_path,
        """
def add(parser):
    parser.add_argument("--old", type=int, help="Deprecated: " "use --new-way instead")
    parser.add_argument("--older", action=DeprecatedAction, new_flag="--new-way")
    parser.add_argument("--plain", help="like --old")
""",
    )
    assert found["--old"].replaced_by == "--new-way"
    assert found["--older"].replaced_by == "--new-way"
    assert found["--plain"].replaced_by == ""


def test_choices_may_be_added_elsewhere(tmp_path: Path) -> None:
    found = mined(
        tmp_path,
        """
def one(parser):
    parser.add_argument("--way", choices=["ring"])
class Feature:
    def register_args(self, parser):
        self.add_parser_argument_choices_value(parser, "--way", "tree")
        self.add_parser_argument_choices_value(parser, "--foreign", "mesh")
""",
    )
    assert found["--way"].choices == ("ring", "tree")
    assert (found["--foreign"].choices, found["--foreign"].type) == (("mesh",), "any")


def test_flags_are_made_of_configuration_classes(tmp_path: Path) -> None:
    found = mined(
        tmp_path,
        """
from typing import Literal
Way = Literal["ring", "tree"]
@config
class CacheConfig:
    way: Way | None = None
    share: float = Field(default=0.9, gt=0, le=1)
    cached: bool = True
    extra: dict[str, int] = Field(default_factory=dict)
    _inner: int = 1
@dataclass
class Front:
    port: int = 8000
    @classmethod
    def add_cli_args(cls, parser):
        kwargs = get_kwargs(cls)
        kwargs = cls.customised(kwargs)
        for key, value in kwargs.items():
            parser.add_argument(f"--{key}", **value)
class Engine:
    def add_cli_args(parser):
        cache = get_kwargs(CacheConfig)
        once = cache["share"]
        parser.add_argument("--way", **cache["way"])
        parser.add_argument("--gpu-share", **once)
        parser.add_argument("--cached", **{**cache["cached"], "default": None})
        parser.add_argument("--extra", **cache["extra"])
""",
    )
    assert set(found) == {"--port", "--way", "--gpu-share", "--cached", "--extra"}
    assert (found["--port"].type, found["--port"].default) == ("int", 8000)
    assert (found["--way"].type, found["--way"].choices, found["--way"].default) == (
        "str",
        ("ring", "tree"),
        None,
    )
    share = found["--gpu-share"]
    assert (share.type, share.default, share.low, share.high) == ("float", 0.9, 0.0, 1.0)
    assert (found["--cached"].type, found["--cached"].negation) == ("bool", "--no-cached")
    assert (found["--extra"].type, found["--extra"].open) == ("object", True)


def test_a_factory_makes_flags_of_a_class_but_for_what_it_leaves_out(tmp_path: Path) -> None:
    found = mined(
        tmp_path,
        """
@dataclass
class Base:
    hidden: int = 1
@dataclass
class Config(Base):
    fuse: bool = True
    fast: bool = False
    secret: int = 3
    named: int = field(default=2, metadata={"argparse_meta": {"arg_names": ["--renamed", "--also"]}})
    derived: int = field(init=False, default=0)
def build(parser):
    ArgumentGroupFactory(Config, exclude=["secret"]).build_group(parser)
""",
    )
    assert set(found) == {"--hidden", "--no-fuse", "--fast", "--renamed"}
    assert found["--no-fuse"].aliases == ("--disable-fuse",)
    assert found["--renamed"].aliases == ("--also",)
    assert found["--fast"].default is False


def test_annotated_fields_become_flags(tmp_path: Path) -> None:
    found = mined(
        tmp_path,
        """
class Server:
    tp_size: A[int, Arg(help="x", aliases=["--tensor-parallel-size"], choices=[1, 2])] = 1
    fast: A[bool, "Whether."] = False
    hidden: A[int, Arg(no_cli=True)] = 1
    named: A[str, Arg(help="y", cli_name="--other-name")] = "a"
    plain: int = 3
""",
    )
    assert set(found) == {"--tp-size", "--fast", "--other-name"}
    assert found["--tp-size"].aliases == ("--tensor-parallel-size",)
    assert found["--tp-size"].choices == (1, 2)


def test_an_action_of_its_own_says_how_many_words_it_takes(tmp_path: Path) -> None:
    (tmp_path / "args.py").write_text(
        "class Gone(argparse.Action):\n"
        "    def __init__(self, option_strings, dest, nargs=0, **kwargs):\n"
        "        pass\n"
        "parser.add_argument('--old', action=Gone)\n"
        "parser.add_argument('--kept', action=Kept, type=int)\n"
    )
    old, kept = flags(Sources(tmp_path, ["args.py"]))
    assert (old.nargs, kept.nargs) == (0, None)


def test_a_switch_that_is_on_anyway_says_so(tmp_path: Path) -> None:
    (tmp_path / "args.py").write_text(
        "import argparse\n"
        "parser = argparse.ArgumentParser()\n"
        'parser.add_argument("--fast", action="store_true", default=True)\n'
        'parser.add_argument("--no-bias", action="store_false", dest="bias")\n'
        'parser.add_argument("--debug", action="store_true")\n'
    )
    found = {item.key: item.default for item in flags(Sources(tmp_path, ["*.py"]))}
    assert found == {"--fast": True, "--no-bias": False, "--debug": False}
