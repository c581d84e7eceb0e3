"""Sizes of a kernel's problem, as a shape tells them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kg.errors import InputError

LARGEST = 2**31 - 1
"""Largest side of a problem: kernels index sides with 32 bits, and nothing measured is near it."""

_WORDS = MappingProxyType(
    {
        "M": "rows tokens num_tokens batch_tokens",
        "N": "columns cols elements numel out_features",
        "K": "in_features reduction filters out_channels",
        "B": "batch batch_size bs num_batches groups",
        "E": "experts num_experts",
        "TOPK": "top_k experts_per_token num_experts_per_tok",
        "S": "seq seq_len seqlen sequence_length kv_len kv_seq_len context context_len seqlen_k skv n_ctx",
        "Q": "q_len q_seq_len seqlen_q sq query_len",
        "D": "head_dim head_size headdim dim",
        "H": "heads num_heads n_heads height",
        "W": "width",
        "C": "channels in_channels",
        "FW": "filter_width kernel_width kw s",
        "FH": "filter_height kernel_height kh r",
    }
)
"""Other words for the sizes of kernels: arguments of PyTorch, Triton, flash-attention and CANN."""
_HIDDEN = frozenset({"hidden", "hidden_size", "hidden_dim", "dim", "normalized_shape"})
"""The width of a model: what experts read, and a row of what has no products; any side of another product."""


def canonical(name: str, own: Sequence[str]) -> str:
    """The name of a size that a kernel has, for itself in any case or another word of it; else as it is."""
    upper, word = name.upper(), name.lower()
    if upper in own:
        return upper
    known = next((size for size in own if word in _WORDS.get(size, "").split()), "")
    if not known and word in _HIDDEN:
        known = "K" if "E" in own else "N" if "K" not in own and "N" in own else ""
    if not known and "E" in own and word in {"intermediate_size", "moe_intermediate_size"}:
        known = "N"
    return known or name


def sizes(
    shape: Mapping[str, object], names: Sequence[str], *, may_lack: Sequence[str] = ()
) -> dict[str, int]:
    """The sizes that a kernel needs.

    Args:
        shape: As the user gave it; names in any case, or other words for them.
        names: That are required.
        may_lack: That are optional.

    Raises:
        InputError: Sizes that are missing, unknown or none; all of them at once.
    """
    wanted = (*names, *may_lack)
    by_name = {canonical(name, wanted): value for name, value in shape.items()}
    words = {name: f"{name}={text.split()[0]}" for name, text in _WORDS.items()}
    words |= {"H": "H=height"} if "W" in wanted else {}
    spoken, others = (", ".join(words.get(name, name) for name in some) for some in (names, may_lack))
    example = "--shape " + ",".join(f"{name}=4096" for name in names) + f" ({spoken})"
    example += f"; it may also have {others}" if others else ""
    faults = [f"{name} is missing" for name in names if name not in by_name]
    faults += [f"{name} is none of its sizes" for name in by_name if name not in wanted]
    found = {}
    for name in wanted:
        value = by_name.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST:
            faults.append(f"{name}: {value!r} is no whole number between 1 and {LARGEST}")
        else:
            found[name] = value
    if faults:
        raise InputError("; ".join(faults), hint=example)
    return found


def power_above(size: int, least: int) -> int:
    """The power of two that holds a size."""
    return max(1 << (size - 1).bit_length(), least)


def powers(low: int, high: int) -> list[object]:
    """Powers of two between two, both included."""
    return [1 << k for k in range(low.bit_length() - 1, high.bit_length()) if low <= 1 << k <= high]
