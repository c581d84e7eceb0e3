"""Search spaces of a matrix product's tiles, from the buffers of a core and the sizes of the problem.

Triton keeps a tile of both operands for every stage of its pipeline but the one in use; AscendC's matmul
keeps its base blocks in L0A, L0B and, in 32 bits, L0C. Rules leave out what cannot run; one whose fact is
unknown is skipped, and that is said. Names of facts: ``docs/knowledge-format.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.errors import InfeasibleError, InputError
from recommender.cost_model.device import ELEMENT_BYTES, precision
from recommender.search.space_file import read_space
from recommender.search.spaces.generated import Generated, Left

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.cost_model.device import Device

OPERATORS = ("gemm", "matmul")
ACCUMULATOR_BYTES = 4
TILES = (16, 32, 64, 128, 256)
"""Sides of a tile. ``tl.dot`` takes none below 16, and a fractal of a cube is 16 x 16; the largest is a
choice, as frameworks' own lists have it."""
MOST_THREADS = 1024
"""Threads of a block (CUDA C++ Programming Guide, technical specifications)."""
_SIDES = {"triton": "BLOCK_SIZE_{}", "ascendc": "base{}"}
_TRITON = "Triton documentation: tl.dot, triton.Config"
_ASCENDC = "Ascend C: base blocks of Matmul tiling"


def kernel_space(
    operator: str, shape: Mapping[str, object], number_format: str, device: Device, *, form: str = ""
) -> Generated:
    """Tiles of a matrix product that can run.

    Args:
        operator: One of :data:`OPERATORS`.
        shape: M, N and K.
        number_format: Of the operands.
        device: Whose buffers count.
        form: ``"triton"`` or ``"ascendc"``; by the device if empty.

    Raises:
        InputError: Another operator or form, or a size that is missing.
        InfeasibleError: No tile fits; the message names the rules.
    """
    if operator not in OPERATORS:
        raise InputError(
            f"no space of {operator!r} can be made", hint=f"of {', '.join(OPERATORS)}; or declare it"
        )
    form = form or ("ascendc" if device.ascend else "triton")
    if form not in _SIDES:
        raise InputError(f"no form {form!r} of a kernel", hint=f"one of: {', '.join(_SIDES)}")
    element = ELEMENT_BYTES[precision(number_format)]
    left: list[Left] = []
    skipped: list[str] = []
    parameters: dict[str, list[object]] = {}
    for side in "MNK":
        size = shape.get(side)
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise InputError(f"{side}: {size!r} is no size", hint="--shape M=4096,N=4096,K=4096")
        name = _SIDES[form].format(side)
        whole = max(1 << (size - 1).bit_length(), TILES[0])  # the power of two that holds it
        parameters[name] = [tile for tile in TILES if tile <= whole]
        left += [
            Left(what=f"{name}={tile}", why=f"larger than {side}={size}", source="the problem")
            for tile in TILES
            if tile > whole
        ]
    m, n, k = parameters
    rules: list[tuple[str, str, str, str]]
    if form == "triton":
        warp = device.known("warp_size") or 32.0
        parameters |= {"GROUP_SIZE_M": [1, 4, 8, 16], "num_stages": [1, 2, 3, 4, 5]}
        parameters["num_warps"] = [count for count in (1, 2, 4, 8, 16, 32) if count * warp <= MOST_THREADS]
        used = f"max(num_stages - 1, 1) * ({m} + {n}) * {k} * {element:g}"
        rules = [("shared_memory_bytes", used, "stages of both tiles fit the shared memory", _TRITON)]
    else:
        rules = [
            ("l0a_bytes", f"{m} * {k} * {element:g}", "the left base block fits L0A", _ASCENDC),
            ("l0b_bytes", f"{k} * {n} * {element:g}", "the right base block fits L0B", _ASCENDC),
            ("l0c_bytes", f"{m} * {n} * {ACCUMULATOR_BYTES}", "the sums fit L0C", _ASCENDC),
        ]
    constraints = []
    for fact, used, reason, source in rules:
        held = device.known(fact)
        if held is None:
            skipped.append(f"{reason}: {fact} of {device.id} is not known")
            continue
        told = {
            "expression": f"{used} <= {held:.0f}",
            "reason": f"{reason} of {held:.0f} B",
            "source": source,
        }
        constraints.append(told)
    space = read_space({"parameters": parameters, "constraints": constraints})
    count = space.size(1_000_000)
    if count == 0:
        raise InfeasibleError("no tile fits", hint="; ".join(rule["reason"] for rule in constraints))
    return Generated(
        parameters=parameters,
        constraints=tuple(constraints),
        left=tuple(left),
        skipped=tuple(skipped),
        configurations=count,
    )
