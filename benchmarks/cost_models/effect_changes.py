"""Reads the settings before and after a published effect from the fields of its row.

What is set stands in ``config_change`` as flags, variables, parameters and sizes, with ``->`` between before and
after; a strategy's own name stands for its switch.
"""

import re

from benchmarks.worlds.shipped import NotExpressibleError
from kg.nouns.values import Value
from recommender.cost_model.settings.dialects import OFF, translate
from recommender.cost_model.settings.plans import PHASES, canonical_name

Row = dict[str, str]
Settings = dict[str, object]


def settings_of(row: Row, phase: str) -> tuple[Settings, Settings]:
    """The settings before and after, by the fields of the row; both empty where it sets none.

    What is set stands in ``config_change`` as flags, variables, parameters and sizes, with ``->`` between before
    and after; a strategy's own name stands for its switch.
    """
    if row["family"] == "operator" or row["metric"].startswith("op "):
        raise NotExpressibleError("an operator alone, outside a step")
    stated = re.sub(r"\d+\.\d+ -> \d+\.\d+", "", row["config_change"])  # those are results
    grid = re.search(r"\btp-x (\d+) tp-y (\d+)", stated)
    if grid:  # a degree in two dimensions is still one
        stated = stated.replace(grid.group(), f"tp{int(grid.group(1)) * int(grid.group(2))}")
    left, arrow, right = stated.partition("->")
    before, after = (_told(side, row, phase) for side in ((left, right) if arrow else ("", left)))
    if arrow:
        sizes = set(before) | set(after)
        before, after = ({**{name: OFF.get(name, 1) for name in sizes}, **side} for side in (before, after))
        changed = {name for name in sizes if before[name] != after[name]}
        if "full recompute" in left and "recompute" in changed | {"recompute"}:
            before["recompute"], after["recompute"] = "full", "none"
    else:
        switched = {name: value for name, value in after.items() if name in OFF and value != OFF[name]}
        stated_sizes = {canonical_name(word) for word, _ in SIZES.findall(stated)}
        if switched.keys() - stated_sizes:  # sizes beside a switch are where it was thrown
            switched = {name: value for name, value in switched.items() if name not in stated_sizes}
        conditions = {name: value for name, value in after.items() if name not in switched}
        if not switched and (named := STRATEGIES.get(phase, {})):
            text = row["strategy"].lower()
            switched = next((dict(sets) for words, sets in named.items() if words in text), {})
        if "prefix_hit" in conditions and "cache" in row["strategy"].lower():
            switched = {"prefix_hit": conditions.pop("prefix_hit")}
        before = {**conditions, **{name: OFF.get(name, 0) for name in switched}}
        after = switched
        kind = row["bottleneck"].partition("(")[0].strip()
        if kind == "recompute overhead":
            before["recompute"], after = "full", {"recompute": "none", **after}
        elif "offload" in after and kind != "memory":
            after = {}  # it makes room for something that the row does not state
    if "prefix_hit" in after:
        before["prefix_hit"], before["output_len"] = 0.0, 1
    if before.get("grouped_matmul") == 0:
        before = {"tensor_parallel": 4, "expert_parallel": 2, **before}
    return before, {name: value for name, value in after.items() if before.get(name) != value}


STRATEGIES: dict[str, dict[str, Settings]] = {
    "training": {
        "gradient reduce": {"overlap_gradients": 1}, "flash attention": {"flash_attention": 1},
        "grouped matmul": {"grouped_matmul": 1}, "fused rmsnorm": {"fused_ops": 1},
        "fused swiglu": {"fused_ops": 1}, "fused rotary": {"fused_ops": 1}, "swap": {"offload": "activations"},
        "activation offload": {"offload": "activations"},
    },
    "serving": {
        "speculative decoding": {"speculative_tokens": 3}, "sequence parallel": {"sequence_parallel": 1},
        "full graph": {"graph": 1}, "async scheduling": {"async_scheduling": 1}, "groupedmatmul": {"fused_ops": 1},
        "prefix cache": {"prefix_hit": 0.5}, "context cache": {"prefix_hit": 0.5},
    },
}  # fmt: skip
"""Strategies by the names that the knowledge gives them, and what they set; a draft is taken as three tokens
accepted with chance one half, a cache without a share as half of the prompt."""

SIZES = re.compile(r"(?<![a-z_])(tp|pp|cp|ep|dp)[ -]?(\d+)", re.IGNORECASE)
_NAMES = re.compile(r"--[\w-]+|\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|\b[a-z]+(?:[_-][a-z0-9]+)+\b")


def _told(text: str, row: Row, phase: str) -> Settings:
    """Settings that one side of a change states, in the cost model's words."""
    known = PHASES[phase]
    named: dict[str, Value] = {}
    for found in _NAMES.finditer(f"{text} {row['strategy']}" if "->" in row["config_change"] else text):
        tail = re.match(r"\s*[= ]\s*(true|false|\d+)\b", text[found.end() :], re.IGNORECASE)
        named[found.group()] = tail.group(1) if tail else True
    number = re.fullmatch(r"\D*?(\d+)\D*", text.strip())
    if number and len(text.split()) == 1:
        named = {name: number.group(1) for name in named}
    settings = {
        name: value
        for name, value in translate(named, phase, count=2).settings.items()
        if not (value is True or (isinstance(known.get(name), int) and name not in OFF and value == 1))
    }
    if "enable-expert-parallel" in row["config_change"] and "expert_parallel" not in settings:
        settings["expert_parallel"] = "all" if "true" in text else 1
    if settings.get("expert_parallel") == 2:
        settings["expert_parallel"] = "all"
    settings |= {canonical_name(word): int(size) for word, size in SIZES.findall(text)}
    if phase == "serving":
        share = re.search(r"hit rate (0\.\d+)|(\d+) ?% reuse", f"{text} {row['strategy']}")
        if share:
            settings["prefix_hit"] = float(share.group(1) or float(share.group(2)) / 100)
        running = re.search(r"conc(?:urrency)? (\d+)", row["config_change"])
        if running:
            settings["batch"] = int(running.group(1))
        tokens = re.search(r"(\d+) tokens", text)
        if tokens:
            settings |= {"input_len": int(tokens.group(1)), "output_len": 1}
    return {name: value for name, value in settings.items() if name in known}
