"""Defaults as the functions of a release settle them."""

from pathlib import Path

import pytest

from tools.oracle.settings.resolution import add_resolutions
from tools.oracle.settings.source import Mined, Sources

ENGINE = """
class EngineArgs:
    def __post_init__(self):
        if self.loader is None:
            self.loader = LOADER
    def create(self, usage_context):
        self.settle(usage_context, self.model())
        self.seats = min(self.seats, self.budget)
        return Config(graph=self.graph if self.graph is not None else "full", sizes=self.sizes or 4)
    def settle(self, usage_context, model):
        memory = current_platform.get_device_total_memory()
        if memory >= 70 * GiB_bytes:
            seats = {UsageContext.LLM_CLASS: 2048, UsageContext.OPENAI_API_SERVER: 1024}
        else:
            seats = {UsageContext.LLM_CLASS: 512, UsageContext.OPENAI_API_SERVER: 256}
        if current_platform.is_cpu():
            seats = {UsageContext.OPENAI_API_SERVER: 128 * model.size}
        if self.seats is None:
            self.seats = seats.get(usage_context, 64)
        if self.mode == "throughput":
            self.seats *= 2
        if self.kernels is None:
            self.kernels = model.kernels
        if self.cache is None:
            self.cache = model.is_prefix_caching_supported
        if self.refused is None and self.mode == "no":
            raise ValueError("refused")
LOADER = "auto" + "-fast"
class Config:
    def __post_init__(self):
        if self.sizes is None:
            self.sizes = 1
"""
NAMES = ("loader", "seats", "graph", "kernels", "cache", "sizes", "refused", "budget")


def resolved(folder: Path, text: str, *entries: str) -> dict[str, tuple[tuple[object, ...], ...]]:
    (folder / "engine.py").write_text(text)
    flags = [Mined(key=f"--{name}", place="flag", path="engine.py", stated=True) for name in NAMES]
    flags.append(Mined(key="--mode", place="flag", path="engine.py", stated=True, default="balanced"))
    add_resolutions(Sources(folder, ["engine.py"]), entries, flags)
    return {item.key[2:]: item.resolved for item in flags if item.resolved}


def test_constants_tables_and_what_is_computed(tmp_path: Path) -> None:
    found = resolved(tmp_path, ENGINE, "EngineArgs.__post_init__", "EngineArgs.create")
    assert found.pop("seats") == (
        ("--mode == throughput and platform == cpu",),
        ("--mode == throughput and memory >= 70", 2048, "most"),
        ("--mode == throughput", 512, "most"),
        ("platform == cpu",),
        ("memory >= 70", 1024, "most"),
        ("", 256, "most"),
    )
    assert found == {
        "loader": (("", "auto-fast"),),
        "graph": (("", "full"),),
        "kernels": (("",),),
        "cache": (("plain decoder", True), ("",)),
        "sizes": (("", 4),),
    }


def test_hooks_declarations_and_early_returns(tmp_path: Path) -> None:
    text = """
def run_resolution_pipeline(server_args):
    run_hook(handle_memory, server_args)
    run_post_process_pass(server_args, seats_default)
def handle_memory(server_args):
    cfg = resolving_view(server_args)
    memory = get_device_memory_capacity(cfg.device)
    if memory < 35 * 1024:
        declare_resolution(server_args, "here", budget=2048)
        return
    declare_resolution(server_args, "here", budget=8192)
def seats_default(view):
    if view.seats is not None:
        return {}
    if get_platform().is_npu:
        return {"seats": 128}
    return {"seats": 1}
def by_model(server_args):
    if "kimi" in server_args.model_path:
        server_args.graph = "none"
"""
    found = resolved(tmp_path, text, "run_resolution_pipeline")
    assert found == {
        "budget": (("memory < 35", 2048), ("", 8192)),
        "seats": (("platform == npu", 128), ("", 1)),
    }


TABLE = """for name, size in {'h100': 8, 'a100': 4}.items():
        if name in torch.cuda.get_device_name(0).lower():
            return size
    return 1"""


@pytest.mark.parametrize(
    ("body", "cases"),
    [
        (TABLE, (("device has h100", 8), ("device has a100", 4), ("", 1))),
        ("return 2 if device == 'npu' else 1", (("platform == npu", 2), ("", 1))),
        ("return random()", (("",),)),
    ],
)
def test_a_helper_gives_the_value(tmp_path: Path, body: str, cases: tuple[tuple[object, ...], ...]) -> None:
    text = (
        "class Serve:\n    def api_server(args):\n"
        "        seats = args.seats if args.seats else most(args.device)\n"
        f"def most(device):\n    {body}\n"
    )
    assert resolved(tmp_path, text, "Serve.api_server") == {"seats": cases}


def test_a_setting_that_other_code_may_set_is_in_doubt(tmp_path: Path) -> None:
    text = "def validate_args(args):\n    if args.cache is None:\n        args.cache = 1\n"
    text += "def elsewhere(args):\n    args.cache = 2\n"
    assert resolved(tmp_path, text, "validate_args") == {"cache": (("?",), ("", 1))}
