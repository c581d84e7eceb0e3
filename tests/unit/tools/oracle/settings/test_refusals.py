"""Combinations that a program refuses."""

from pathlib import Path

from tools.oracle.settings.refusals import add_refusals
from tools.oracle.settings.source import Mined, Sources

CHECKS = """
class Overlap(Feature):
    def __init__(self):
        super().__init__("fast-path")
    def validate_args(self, args):
        self.incompatible_check(args, "slow_path")
        self.dependency_check(args, "bf16")
    def more(self, args):
        if args.depth > 4 and not args.bf16:
            raise ValueError("no")
        if args.fast_path:
            if args.depth is None:
                raise ValueError("no")
            assert args.width == args.depth, "no"
        if args.slow_path or args.bf16:
            raise ValueError("an alternative is no single condition")
        if args.slow_path and machine() == "x":
            raise ValueError("depends on more than settings")
        if not args.fast_path:
            return
        if args.width in (1, 2):
            raise ValueError("reached on the fast path alone")
"""


def test_conditions_over_settings_are_noted_at_each(tmp_path: Path) -> None:
    (tmp_path / "checks.py").write_text(CHECKS)
    settings = {
        key: Mined(key=key, place="flag", path="args.py")
        for key in ("--fast-path", "--slow-path", "--bf16", "--depth", "--width")
    }
    add_refusals(Sources(tmp_path, ["checks.py"]), settings.values())
    found = {key: set(item.conflicts) for key, item in settings.items()}
    assert found["--slow-path"] == {"--fast-path and --slow-path"}
    assert found["--bf16"] == {"--fast-path and not --bf16", "--depth > 4 and not --bf16"}
    assert found["--depth"] == {
        "--depth > 4 and not --bf16",
        "--depth is unset and --fast-path",
        "--fast-path and --width != --depth",
    }
    assert "--fast-path and --width in (1, 2)" in found["--width"]


def test_checks_of_a_script_itself_are_read(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        'if __name__ == "__main__":\n    if args.train.async_enable:\n        assert not args.vllm.enable_sleep\n'
    )
    settings = [
        Mined(key=key, place="flag", path="train.py")
        for key in ("--train.async_enable", "--vllm.enable_sleep")
    ]
    add_refusals(Sources(tmp_path, ["train.py"]), settings)
    assert settings[0].conflicts == ("--train.async_enable and --vllm.enable_sleep",)
