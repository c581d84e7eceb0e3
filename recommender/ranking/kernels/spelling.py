"""A kernel in words: settings in its language, how full its buffers are, what does nothing here."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from recommender.ranking.change import NotHere
from recommender.ranking.feasibility.rules import Broken
from recommender.ranking.kernels.domain import KernelDomain
from recommender.ranking.kernels.language import Language
from recommender.ranking.kernels.question import KernelQuestion
from recommender.ranking.kernels.tile_work import core_shares
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.space.expressions import Expression
from recommender.space.made import ascendc, triton_ascend
from recommender.space.made.needs import is_amd, is_nvidia

TRITON_CONFIG = "https://triton-lang.org/main/python-api/generated/triton.Config.html"
MOE_TABLES = (
    "https://github.com/vllm-project/vllm/blob/main/vllm/model_executor/layers/fused_moe/configs/README"
)
_TABLES = frozenset({"vllm", "sglang"})
"""Frameworks that read the tiles of experts and of quantised products from JSON tables."""
TUTORIAL = (
    "https://github.com/triton-lang/triton/blob/7649d87cce6c12361bb9da234b9b227b2880b499"
    "/python/tutorials/03-matrix-multiplication.py"
)
_AMD = ("waves_per_eu", "matrix_instr_nonkdim", "kpack")
_FULL = 0.5
"""Share of a buffer from which its limit is told; a choice."""


def kernel_settings(
    question: KernelQuestion, configuration: Mapping[str, Value], origin: Callable[[str], Origin]
) -> tuple[PlanSetting, ...]:
    """The settings of a configuration, in the order to write them.

    Args:
        question: What is asked.
        configuration: Values by parameter.
        origin: What each comes from.
    """
    tabled = question.framework in _TABLES and question.kernel.grouped
    where = SettingPlace.JSON if tabled else SettingPlace.CODE
    source = _source(question)
    values = {**configuration, **_derived(question, configuration)}
    return tuple(
        PlanSetting(where=where, key=key, value=value, origin=origin(key), source=source)
        for key, value in values.items()
        if not _idle(question, key, values)
    )


def place(question: KernelQuestion, device_label: str) -> str:
    """A sentence that says where the settings are written."""
    if question.framework in _TABLES and question.kernel.grouped:
        facts = [f"{name}={question.sizes[name]}" for name in ("E", "N") if name in question.sizes]
        maker = "NVIDIA " if is_nvidia(question.device) else "AMD " if is_amd(question.device) else ""
        device = f"{maker}{device_label.removeprefix(maker)}".replace(" ", "_")
        table = ",".join([*facts, f"device_name={device}"])
        return (
            f"write it under {question.sizes['M']} of {table}.json (the device as "
            "torch.cuda.get_device_name() prints it); benchmark_moe.py measures a whole table"
        )
    if question.language is Language.TRITON:
        return "write it as triton.Config under @triton.autotune, beside the alternatives"
    is_product = "K" in (*question.kernel.needs, *question.kernel.may)
    return f"set it in the {'TCubeTiling' if is_product else 'tiling data'} of the host's tiling function"


def limit_lines(domain: KernelDomain, configuration: Mapping[str, Value]) -> Iterator[str]:
    """Yield how much of each limited thing a configuration takes, where it is at least half."""
    numbers = {
        name: np.array([float(value)])
        for name, value in configuration.items()
        if isinstance(value, int | float)
    }
    for item in domain.space.constraints:
        left, sign, right = item.expression.partition("<=")
        if not sign:
            continue
        known = frozenset(domain.space.names)
        sides = [Expression.parse(side, known) for side in (left, right)]
        if not all(side.names <= set(numbers) for side in sides):
            continue
        used, held = (float(np.ravel(side.numbers(numbers))[0]) for side in sides)
        if held > 0 and _FULL <= used / held <= 1:
            reason = item.reason.rpartition(", ")[0] or item.reason
            yield f"{reason}: {used:.0f} of {held:.0f}" + (f" <{item.source}>" if item.source else "")


def not_fitting(current: Mapping[str, Value], broken: Sequence[Broken]) -> tuple[NotHere, ...]:
    """Current settings that cannot run, with the limit; empty where nothing is broken."""
    stated = ", ".join(f"{name}={value}" for name, value in current.items())
    return tuple(
        NotHere(
            strategy=stated,
            because=f"what is set now cannot run: {item.rule}: {item.reason}",
            fact=item.reason,
            source=item.source,
        )
        for item in broken
    )


def foreign_settings(question: KernelQuestion, domain: KernelDomain) -> tuple[NotHere, ...]:
    """Settings of such kernels that do nothing here, and values that the shape rules out."""
    unused = [item for item in domain.excluded if "=" not in item.what]
    found = [
        NotHere(
            strategy=", ".join(item.what for item in unused),
            because=unused[0].why,
            fact=question.device.id,
            source=unused[0].source,
        )
        for _ in unused[:1]
    ]
    if question.form == "triton" and is_nvidia(question.device):
        found.append(
            NotHere(
                strategy=", ".join(_AMD),
                because="of Triton's backend for AMD",
                fact=question.device.id,
                source=TUTORIAL,
            )
        )
    if question.form == "triton" and (is_nvidia(question.device) or is_amd(question.device)):
        found.append(
            NotHere(
                strategy="multibuffer",
                because="of Triton's backend for Ascend; num_stages overlaps transfers here",
                fact=question.device.id,
                source=triton_ascend.CORES,
            )
        )
    if not question.device.get("peak_fp8_flops"):
        found.append(
            NotHere(
                strategy="8-bit floating point",
                because="no such unit is known of it",
                fact=question.device.id,
            )
        )
    by_reason: dict[str, list[str]] = {}
    for item in domain.excluded:
        if "=" in item.what:
            by_reason.setdefault(item.why, []).append(item.what)
    return (
        *found,
        *(
            NotHere(strategy=", ".join(values), because=why, fact="the shape of the question")
            for why, values in by_reason.items()
        ),
    )


def _source(question: KernelQuestion) -> str:
    if question.form == "ascendc":
        return ascendc.TILING
    if question.device.ascend:
        return triton_ascend.TUTORIAL if "K" in question.sizes else triton_ascend.VECTOR
    return MOE_TABLES if question.kernel.grouped else TRITON_CONFIG


def _derived(question: KernelQuestion, configuration: Mapping[str, Value]) -> dict[str, Value]:
    """Fields that follow from the tile: a grid as Triton takes it, and the rest of the tiling structure."""
    if question.form == "triton" and "grid" in configuration:
        return {"grid": (configuration["grid"],)}
    if question.form != "ascendc" or "usedCoreNum" not in configuration:
        return {}
    tile = {name: value for name, value in configuration.items() if isinstance(value, int)}
    packets = {f"stepK{side.lower()}": max(tile[f"depth{side}1"] // 2, 1) for side in "AB"}
    derived: dict[str, Value] = {"stepM": 1, "stepN": 1, **packets}
    if any(step > 1 for step in packets.values()):
        derived["MatmulConfig"] = "CFG_MDL"  # the template that brings several base blocks to L1 at once
    if question.kernel.grouped or question.sizes.get("B", 1) > 1:
        return derived
    m, n = _shares(question.sizes["M"], question.sizes["N"], tile)
    return {**derived, "singleCoreM": m, "singleCoreN": n, "singleCoreK": question.sizes["K"]}


def _shares(m: int, n: int, tile: Mapping[str, int]) -> tuple[int, int]:
    """Rows and columns of a core."""
    base_m, base_n, cores = (np.array([float(tile[name])]) for name in ("baseM", "baseN", "usedCoreNum"))
    shares = core_shares(np.ceil(m / base_m), np.ceil(n / base_n), cores, base_m, base_n)
    down, along = (int(share[0]) for share in shares)
    return min(down * tile["baseM"], m), min(along * tile["baseN"], n)


def _idle(question: KernelQuestion, key: str, values: Mapping[str, Value]) -> bool:
    """True if a setting has no effect here: an order of tiles where there are fewer of them."""
    if key != "BLOCK_TRESHHOLD":
        return False
    side, m, n = values[key], values["BLOCK_M"], values["BLOCK_N"]
    if not (isinstance(side, int) and isinstance(m, int) and isinstance(n, int)):
        return False
    return -(-question.sizes["M"] // m) < side or -(-question.sizes["N"] // n) < side
