"""A recipe: the complete configuration that somebody publishes for one role of a deployment.

It is evidence of what works together, not of a gain: most recipes come without a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kg.nouns.entities import Source
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings, Value


class Role(StrEnum):
    """The part of a deployment that a recipe configures."""

    SERVE = "serve"
    PREFILL = "prefill"
    DECODE = "decode"
    TRAIN = "train"
    FINETUNE = "finetune"


ROLES = {
    "推理": Role.SERVE, "预填充": Role.PREFILL, "解码": Role.DECODE, "训练": Role.TRAIN, "微调": Role.FINETUNE
}  # fmt: skip
"""Roles by their Chinese names."""


class Authority(StrEnum):
    """The publisher of a recipe, nearest to the hardware first."""

    VENDOR_TUTORIAL = "vendor-tutorial"
    VENDOR_CI = "vendor-ci"
    VENDOR_EXAMPLE = "vendor-example"
    ENGINE_GUIDE = "engine-guide"
    THIRD_PARTY = "third-party"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeSetting:
    """One setting of a recipe, as it is written.

    Attributes:
        where: The place it is written in.
        key: As published, such as ``"--max-num-seqs"`` or ``"compilation_config.cudagraph_mode"``.
        value: Text as published; ``"true"`` for a flag without a value.
    """

    where: SettingPlace
    key: str
    value: str

    def __post_init__(self) -> None:
        """Refuse a setting without a key."""
        if not self.key:
            raise ValueError("a setting needs a key")


SIZES = ("tp", "pp", "dp", "cp")
"""Parallel sizes whose product is the number of devices of one instance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A complete configuration of one role of a deployment.

    Attributes:
        id: Slug, unique among recipes.
        role: The part of the deployment.
        model: Id of the model, or a slug of ``reported_model`` where the graph has none.
        reported_model: The model as published.
        family: Group of recipes of models that are alike; each ships as a file of its own.
        hardware: Id of the hardware node, as exact as the source states it; empty if it states none.
        reported_hardware: The hardware as published.
        devices: Devices of this role in all; a package of two dies counts twice.
        nodes: Servers.
        instances: Identical copies of the server.
        framework: Software that is launched, such as ``"vllm-ascend"``.
        version: Its release or branch and commit.
        context: Lengths in tokens, batch, concurrency, targets: what the recipe is for.
        precision: Number format as stated, such as ``"w8a8"``; empty if not stated.
        layout: Parallel sizes (``tp``, ``pp``, ``dp``, ``ep``, ``cp``) and what else splits the work.
        settings: What is set, in the published order; a key set twice stands twice.
        title: Case or heading in the source.
        source: Where it is published.
        authority: Who publishes it.
    """

    id: str
    role: Role
    model: str
    reported_model: str
    family: str
    devices: int
    framework: str
    source: Source
    authority: Authority
    hardware: str = ""
    reported_hardware: str = ""
    nodes: int = 1
    instances: int = 1
    version: str = ""
    context: Settings = field(default_factory=Settings)
    precision: str = ""
    layout: Settings = field(default_factory=Settings)
    settings: tuple[RecipeSetting, ...] = ()
    title: str = ""

    def __post_init__(self) -> None:
        """Refuse a recipe that nobody can open, that sets nothing, or whose sizes do not multiply."""
        for name in ("id", "model", "family", "framework"):
            if not getattr(self, name):
                raise ValueError(f"a recipe needs a {name}")
        if not self.source.url:
            raise ValueError("a recipe needs a source that can be opened")
        if not self.settings:
            raise ValueError("a recipe sets something")
        for name in ("devices", "nodes", "instances"):
            if getattr(self, name) < 1:
                raise ValueError(f"{getattr(self, name)} {name}")
        self._check_layout()

    def _check_layout(self) -> None:
        product = devices_of(self.layout) * self.instances
        if any(name in self.layout for name in SIZES) and product != self.devices:
            sizes = " x ".join(f"{name} {self.layout[name]}" for name in SIZES if name in self.layout)
            if self.layout.get("dp_attention"):
                sizes += " (dp inside tp)"
            copies = f" in {self.instances} instances" if self.instances > 1 else ""
            raise ValueError(f"{sizes}{copies} makes {product} devices, not {self.devices}")
        experts = self.layout.get("ep")
        if isinstance(experts, int) and experts * self.instances > self.devices:
            raise ValueError(
                f"ep {experts} is more than the {self.devices // self.instances} devices it spans"
            )


SGLANG = "sglang"
_EXCHANGE = "--moe-a2a-backend"


def experts_spread(framework: str, layout: Mapping[str, Value], settings: Mapping[str, str]) -> int:
    """Devices of one instance that share out the experts; 1 where each has a part of all of them.

    SGLang spreads experts over all devices of its tensor parallelism where they exchange tokens by a backend
    (sglang's ``server_args.py`` sets ``ep_size`` to ``tp_size``), without expert parallelism being stated.

    Args:
        framework: Id of what is launched.
        layout: Parallel sizes as stated.
        settings: Values by key as published.
    """
    stated, tensors = layout.get("ep", 1), layout.get("tp", 1)
    if framework == SGLANG and "ep" not in layout and settings.get(_EXCHANGE, "none") != "none":
        stated = tensors
    return stated if isinstance(stated, int) and not isinstance(stated, bool) else 1


def devices_of(layout: Mapping[str, Value]) -> int:
    """Devices of one instance: the product of the parallel sizes, a missing one counting as 1.

    Where attention is split by data (``dp_attention``), ``tp`` holds ``dp`` already.
    """
    product = 1
    for name in SIZES:
        size = layout.get(name, 1)
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(f"{name} {size!r} is no positive whole number")
        if not (name == "dp" and layout.get("dp_attention")):
            product *= size
    return product
