"""Symbols that resolved defaults depend on, and what can be said of them: terms, in words of our own."""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tools.oracle.settings.source import ARITHMETIC, tail

Terms = tuple[str, ...]
Cases = tuple[tuple[Terms, Any], ...]
OWNERS = frozenset({"self", "args", "cfg", "server_args", "view", "engine_args"})
"""Names that hold the settings, or one of the configurations made of them."""
UNKNOWN = "?"
SERVER = "OPENAI_API_SERVER"
"""Name that vLLM gives to its use by a command line."""
LONGEST = 24
"""Cases beyond which a value counts as computed."""
GIB = 2**30
_PLATFORMS = {
    "is_cuda": ("cuda",), "is_rocm": ("rocm",), "is_hip": ("rocm",), "is_cpu": ("cpu",), "is_tpu": ("tpu",),
    "is_xpu": ("xpu",), "is_npu": ("npu",), "is_hpu": ("hpu",), "is_mps": ("mps",), "is_musa": ("musa",),
    "is_cuda_alike": ("cuda", "rocm"), "is_neuron": ("neuron",),
}  # fmt: skip
_DEVICE = (UNKNOWN, "platform", "memory", "device", "plain")
_FOREIGN = {f"platform == {name}" for name in ("tpu", "xpu", "hpu", "mps", "musa", "neuron")}
"""Platforms that nobody here asks about: their tables are not followed."""
_MEASURES = {
    "get_device_total_memory": ("memory", 1 / GIB),
    "get_device_memory_capacity": ("memory", 1 / 1024),
    "get_nvgpu_memory_capacity": ("memory", 1 / 1024),
    "get_amdgpu_memory_capacity": ("memory", 1 / 1024),
    "get_device_name": ("device", 0.0),
}
_OF_MODEL = {
    "is_chunked_prefill_supported": True, "is_prefix_caching_supported": True, "is_encoder_decoder": False,
}  # fmt: skip
"""Questions of vLLM about a model, answered for one that writes text by attention alone."""
_SIGNS: dict[type[ast.cmpop], tuple[str, Any]] = {
    ast.Eq: ("==", operator.eq), ast.NotEq: ("!=", operator.ne), ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le), ast.Gt: (">", operator.gt), ast.GtE: (">=", operator.ge),
}  # fmt: skip


class Computed:
    """A value that depends on what no reader of the sources knows."""

    def __repr__(self) -> str:
        return "COMPUTED"


COMPUTED = Computed()
UNSEEN: Cases = (((), COMPUTED),)
NOBODY: Cases = (((), None),)


@dataclass(frozen=True)
class Symbol:
    """A value that a launch or its device decides.

    Attributes:
        name: As terms call it: ``memory``, ``device``, ``platform``, or the key of a setting.
        scale: Of a number, what makes it the unit of the terms.
        default: Of a setting, its stated default.
        settled: Of a setting, whether the program settles it where it is not told: its value is unknown here.
    """

    name: str
    scale: float = 1.0
    default: Any = COMPUTED
    settled: bool = False

    @property
    def is_setting(self) -> bool:
        """True if it is another setting, not a fact of the device or the use."""
        return self.name not in {"memory", "device", "platform"}


@dataclass(frozen=True)
class Bound:
    """A number that something computed may still lower (``"most"``) or raise (``"least"``)."""

    kind: str
    value: float


def measured(node: ast.expr) -> Cases | None:
    """The symbol, or the truth by platform, that an expression reads of the device; None if it is neither."""
    called = node.func if isinstance(node, ast.Call) else node
    name = tail(called)
    if name.lstrip("_") in _PLATFORMS:
        return (*(((f"platform == {one}",), True) for one in _PLATFORMS[name.lstrip("_")]), ((), False))
    if isinstance(node, ast.Call) and name in _MEASURES:
        subject, scale = _MEASURES[name]
        return (((), Symbol(subject, scale)),)
    if name in _OF_MODEL:
        return ((("plain decoder",), _OF_MODEL[name]), ((), COMPUTED))
    if isinstance(node, ast.Name) and name == "usage_context":
        return (((), SERVER),)
    if isinstance(node, ast.Attribute) and tail(node.value) in OWNERS and name in {"device", "device_type"}:
        return (((), Symbol("platform")),)
    if isinstance(node, ast.Attribute) and tail(node.value) == "UsageContext":
        return (((), name),)
    return None


def split(term: str) -> Cases:
    """A truth that a term decides."""
    return (((term,), True), ((), False))


def truth(value: Any) -> Cases:
    """Truth of a value, by cases."""
    if isinstance(value, Symbol):
        return split(value.name if value.is_setting and not value.settled else UNKNOWN)
    if value is COMPUTED or isinstance(value, Bound):
        return split(UNKNOWN)
    return (((), bool(value)),)


def compared(left: Any, sign: ast.cmpop, right: Any) -> Cases:
    """The result of a comparison of two values, by cases."""
    if isinstance(sign, ast.Is | ast.IsNot):
        return _is(left, right, same=isinstance(sign, ast.Is))
    if isinstance(sign, ast.In | ast.NotIn):
        found = _among(left, right)
        return found if isinstance(sign, ast.In) else tuple((terms, not value) for terms, value in found)
    if isinstance(right, Symbol) and not isinstance(left, Symbol):
        turned = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}
        return compared(right, turned.get(type(sign), type(sign))(), left)
    text, function = _SIGNS[type(sign)]
    if isinstance(left, Symbol):
        return _of_symbol(left, text, right)
    if left is COMPUTED or right is COMPUTED or isinstance(left, Bound) or isinstance(right, Bound | Symbol):
        return split(UNKNOWN)
    try:
        return (((), bool(function(left, right))),)
    except TypeError:
        return split(UNKNOWN)


def _is(left: Any, right: Any, *, same: bool) -> Cases:
    if left is COMPUTED or right is not None:
        return split(UNKNOWN)
    if isinstance(left, Symbol):
        if not left.is_setting:
            return (((), not same),)
        if left.default is not None:
            return split(UNKNOWN) if left.default is COMPUTED else (((), not same),)
        return split(f"{left.name} is unset" if same else f"{left.name} is set")
    return (((), (left is None) == same),)


def _of_symbol(left: Symbol, sign: str, right: Any) -> Cases:
    if left.name == "memory":
        return split(f"memory {sign} {right * left.scale:g}") if _is_number(right) else split(UNKNOWN)
    if right is COMPUTED or isinstance(right, Bound | Symbol | list | dict):
        return split(UNKNOWN)
    if sign == "!=":
        return tuple((terms, not value) for terms, value in _of_symbol(left, "==", right))
    if left.is_setting and (left.settled or left.default in (None, COMPUTED)):
        return split(UNKNOWN)  # what it resolves to is not known here
    if " " in str(right):
        return split(UNKNOWN)
    if (left.name, right) == ("platform", "cuda"):  # which torch says of ROCm too
        return (*(((f"platform == {one}",), True) for one in ("cuda", "rocm")), ((), False))
    return split(f"{left.name} {sign} {str(right).lower() if isinstance(right, bool) else right}")


def _among(left: Any, right: Any) -> Cases:
    if isinstance(right, Symbol) and right.name == "device" and isinstance(left, str):
        return split(f"device has {left.lower()}")
    if isinstance(right, dict):
        right = [key for key in right if isinstance(key, str)]
    if not isinstance(right, list | tuple) or any(isinstance(one, tuple) for one in right):
        return split(UNKNOWN)
    if isinstance(left, Symbol):
        found: list[tuple[Terms, Any]] = []
        for one in right:
            case = _of_symbol(left, "==", one)
            if case == split(UNKNOWN):
                return case
            found.extend(item for item in case if item[1])
        return (*found, ((), False))
    return split(UNKNOWN) if left is COMPUTED or isinstance(left, Bound) else (((), left in right),)


def operated(sign: ast.operator, left: Any, right: Any) -> Any:
    """The value of an arithmetic of two values."""
    function = ARITHMETIC.get(type(sign))
    if function is None or not _is_number(right):
        return COMPUTED
    if isinstance(left, Bound):
        grows = isinstance(sign, ast.Add | ast.Sub) or right > 0
        return Bound(left.kind, function(left.value, right)) if grows else COMPUTED
    if isinstance(left, Symbol) and left.name == "memory" and isinstance(sign, ast.Div | ast.FloorDiv):
        return Symbol("memory", left.scale * right)
    return function(left, right) if _is_number(left) and abs(right) < 2**40 else COMPUTED


def extreme(name: str, values: Any) -> Any:
    """``min`` or ``max`` of values, some of them computed."""
    if not isinstance(values, tuple):
        return COMPUTED
    kind = "most" if name == "min" else "least"
    values = [COMPUTED if isinstance(one, Symbol) else one for one in values]
    known = [one.value if isinstance(one, Bound) else one for one in values if one is not COMPUTED]
    bounds = {one.kind for one in values if isinstance(one, Bound)}
    if not known or not all(map(_is_number, known)) or bounds - {kind}:
        return COMPUTED
    chosen = min(known) if name == "min" else max(known)
    return chosen if len(known) == len(values) and not bounds else Bound(kind, chosen)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def short(cases: Iterable[tuple[Terms, Any]]) -> Cases:
    """Cases without those that no launch reaches, or that say nothing; computed where too many are left."""
    kept: list[tuple[Terms, Any]] = []
    for terms, told in cases:
        plain, value = tuple(sorted(set(terms))), told
        if foreign := next((term for term in plain if term in _FOREIGN), ""):
            plain, value = (foreign,), COMPUTED
        if UNKNOWN in plain:  # what else is asked of settings narrows nothing then
            plain = tuple(term for term in plain if term.startswith(_DEVICE))
        if _contradicts(plain) or any(
            same(value, held) if UNKNOWN in above else True
            for above, held in kept
            if set(above) <= set(plain)
        ):
            continue
        kept.append((plain, value))
    if kept and kept[-1][0]:
        kept[-1] = ((), kept[-1][1])  # otherwise the launch is refused
    while len(kept) > 1 and same(kept[-2][1], kept[-1][1]):
        del kept[-2]
    return tuple(kept) if len(kept) <= LONGEST else (((), COMPUTED),)


def _contradicts(terms: Terms) -> bool:
    unset = {term.removesuffix(" is unset") for term in terms if term.endswith(" is unset")}
    return sum(term.startswith("platform ==") for term in terms) > 1 or any(
        f"{name} is set" in terms for name in unset
    )


def same(left: Any, right: Any) -> bool:
    """True if two values are equal and of one type, so that a number never equals a truth."""
    return type(left) is type(right) and bool(left == right)


def joined(tests: Cases, ways: Mapping[bool, Cases]) -> Cases:
    """The cases of a condition, each with those of the way that it leads."""
    return short(((*terms, *more), value) for terms, way in tests if way in ways for more, value in ways[way])


def chained(cases: Cases, then: Callable[[Any], Cases]) -> Cases:
    """The results of a function for the value of each case."""
    return short(((*terms, *more), value) for terms, held in cases for more, value in then(held))


def paired(left: Cases, right: Cases, then: Callable[[Any, Any], Any]) -> Cases:
    """The results of a function of two values, by the cases of both."""
    return chained(left, lambda one: chained(right, lambda two: (((), then(one, two)),)))
