"""Laws the hardware files obey, whoever edits them."""

import gzip
import json
import math
import os
import re
import unicodedata
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "data" / "hardware").glob("*.yaml"))
LEVELS = ("vendor", "architecture", "family", "device", "server")
KINDS = {"measured", "documented", "config", "derived", "secondary", "claimed"}
CONFIDENCES = {"high", "medium", "low"}
TEXTS = {
    "compute_capability",
    "core_design",
    "host_cpu",
    "host_link_type",
    "link_topology",
    "link_type",
    "memory_type",
    "number_formats",
    "purpose",
}
UNITS = (
    "_bytes",
    "_bytes_per_s",
    "_bytes_per_cycle",
    "_flops",
    "_flops_per_cycle",
    "_ops",
    "_hz",
    "_w",
    "_s",
    "_share",
    "_count",
    "_cores",
    "_units",
    "_year",
)
UNITLESS = re.compile(
    r"cube_macs_per_cycle_\w+|max_threads_per_block|warp_size|devices_per_node|devices_per_server"
)
INT8_BELOW_FP16 = {"b300", "gb300"}
"""Blackwell Ultra gave up int8 tensor throughput: 153.5 and 165 TOP/s beside 2.25 PFLOP/s."""
FP16_BELOW_FP32 = {"nvidia-maxwell", "nvidia-pascal", "nvidia-sm121"}
"""Pascal cards other than the P100 run FP16 at 1/64 of FP32; they have no tensor cores."""

Node = dict[str, Any]


def key(name: str) -> str:
    """The form in which two spellings of one name are equal: letters and digits, lower case."""
    text = unicodedata.normalize("NFKC", name.replace("(R)", "").replace("(TM)", "")).lower()
    return "".join(character for character in text if character.isalnum())


def read(path: Path) -> dict[str, Any]:
    content = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    assert isinstance(content, dict)
    return content


NODES: list[Node] = [node for path in FILES for node in read(path)["hardware"]]
BY_ID: dict[str, Node] = {node["id"]: node for node in NODES}


def ancestors(node: Node) -> list[Node]:
    chain: list[Node] = []
    while "broader" in node:
        node = BY_ID[node["broader"]]
        assert len(chain) < len(NODES), "a circle"
        chain.append(node)
    return chain


def facts_of(node: Node) -> dict[str, Any]:
    """A node's facts with those of the nodes above it, the nearest first."""
    merged: dict[str, Any] = {}
    for above in reversed([node, *ancestors(node)]):
        merged.update({name: fact["value"] for name, fact in above.get("facts", {}).items()})
    return merged


def names() -> dict[str, str]:
    """Every spelling of every node, to the id of its node."""
    return {
        key(name): node["id"]
        for node in NODES
        for name in (node["id"], *node["label"].values(), *node.get("aliases", []))
    }


def resolve(name: str, known: dict[str, str]) -> str | None:
    """The node a name means: as it stands, else without a leading vendor word."""
    wanted = key(name)
    if wanted in known:
        return known[wanted]
    vendors = [
        key(word)
        for node in NODES
        if node["level"] == "vendor"
        for word in (*node["label"].values(), *node.get("aliases", []))
    ]
    for vendor in sorted(vendors, key=len, reverse=True):
        if wanted.startswith(vendor) and wanted.removeprefix(vendor) in known:
            return known[wanted.removeprefix(vendor)]
    return None


def test_the_files_are_there_and_small() -> None:
    assert {path.stem for path in FILES} >= {"ascend", "nvidia", "amd", "intel", "others"}
    assert sum(path.stat().st_size for path in FILES) < 668_000


def test_identifiers_are_unique_slugs() -> None:
    assert len(BY_ID) == len(NODES)
    assert [i for i in BY_ID if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", i)] == []


def test_the_tree_has_no_circle_and_ends_in_vendors() -> None:
    for node in NODES:
        chain = ancestors(node)
        assert (node["level"] == "vendor") == (not chain), node["id"]
        levels = [LEVELS.index(above["level"]) for above in (*reversed(chain), node)]
        assert levels == sorted(levels), node["id"]


def test_nothing_is_below_a_device_or_a_server() -> None:
    assert {BY_ID[n["broader"]]["level"] for n in NODES if "broader" in n} <= set(LEVELS[:3])


def test_nodes_say_only_what_the_format_knows() -> None:
    allowed = {"id", "level", "broader", "label", "aliases", "facts"}
    allowed |= {"ambiguous", "assumed", "contains"}
    for node in NODES:
        assert set(node) <= allowed, node["id"]
        assert {"en"} <= set(node["label"]) <= {"en", "zh"}, node["id"]
        assert all(isinstance(alias, str) for alias in node.get("aliases", [])), node["id"]


def test_a_spelling_means_one_node_and_is_listed_once() -> None:
    owners: dict[str, list[str]] = defaultdict(list)
    for node in NODES:
        own = {key(node["id"]), *(key(label) for label in node["label"].values())}
        aliases = [key(alias) for alias in node.get("aliases", [])]
        assert len(aliases) == len(set(aliases)), node["id"]
        assert own.isdisjoint(aliases), node["id"]
        for name in own.union(aliases):
            owners[name].append(node["id"])
    assert {name: ids for name, ids in owners.items() if len(ids) > 1} == {}
    assert "" not in owners


def test_assumptions_and_contents_point_at_nodes() -> None:
    for node in NODES:
        if "assumed" in node:
            assert node["id"] in {above["id"] for above in ancestors(BY_ID[node["assumed"]])}
        if "contains" in node:
            assert node["level"] == "server"
            assert BY_ID[node["contains"]["device"]]["level"] in ("family", "device")
            assert node["contains"]["count"] > 0
            assert node["facts"]["device_count"]["value"] == node["contains"]["count"], node["id"]


def test_the_910b_asks_back_and_the_910_is_assumed() -> None:
    known = names()
    assert BY_ID[known[key("910B")]]["ambiguous"] is True
    bins = {node["id"] for node in NODES if "ascend-910b" in {a["id"] for a in ancestors(node)}}
    assert bins >= {f"ascend-910b{n}" for n in ("1", "2", "3", "4", "4-1")}
    assert BY_ID[known[key("Ascend 910")]]["assumed"] == "ascend-910a"
    assert {known[key(n)] for n in ("昇腾910B3", "Ascend 910B3", "910b3", "Ascend910B3")} == {"ascend-910b3"}


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("NVIDIA H100", "h100"),
        ("NVIDIA_H100_80GB_HBM3", "h100-sxm"),
        ("H100_PCIe", "h100-pcie"),
        ("h100_80gb", "h100-80gb"),
        ("NVIDIA GeForce RTX 3060 Laptop", "geforce-rtx-3060-laptop"),
        ("Atlas 800T A2", "atlas-800t-a2"),
    ],
)
def test_known_spellings_find_their_node(name: str, node: str) -> None:
    assert resolve(name, names()) == node


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sources_can_be_opened_and_are_used(path: Path) -> None:
    content = read(path)
    for source in content["sources"].values():
        assert source["title"]
        assert source["url"].startswith("https://")
        assert set(source) <= {"title", "url", "licence", "note"}
    used = {f["source"] for node in content["hardware"] for f in node.get("facts", {}).values()}
    assert used == set(content["sources"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_facts_are_well_formed(path: Path) -> None:
    for node in read(path)["hardware"]:
        for name, fact in node.get("facts", {}).items():
            where = f"{node['id']} {name}"
            assert set(fact) <= {"value", "source", "kind", "confidence", "note"}, where
            assert fact["kind"] in KINDS, where
            assert fact["confidence"] in CONFIDENCES, where
            value = fact["value"]
            if name in TEXTS:
                assert isinstance(value, str), where
                assert value, where
            else:
                assert type(value) in (int, float), where
                assert 0 < value < math.inf, where
                assert name.endswith(UNITS) or UNITLESS.fullmatch(name), where


def test_every_fact_name_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "knowledge-format.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`([a-z0-9_]+)`", page))
    patterns = [re.compile(p.replace("*", r"\w+")) for p in re.findall(r"`([a-z0-9_*]+)`", page)]
    used = {name for node in NODES for name in node.get("facts", {})}
    missing = [n for n in used - documented if not any(p.fullmatch(n) for p in patterns)]
    assert sorted(missing) == []


def test_lower_precision_is_not_slower() -> None:
    """int4 >= int8 >= fp16 >= tf32 or fp32, where a device has them and no exception is named."""
    ladder = ("peak_int4_ops", "peak_int8_ops", "peak_fp16_flops", "peak_fp32_flops")
    for node in (n for n in NODES if n["level"] == "device"):
        facts = facts_of(node)
        above = {a["id"] for a in ancestors(node)}
        for low, high in pairwise(ladder):
            if low == "peak_int8_ops" and node["id"] in INT8_BELOW_FP16:
                continue
            if low == "peak_fp16_flops" and above & FP16_BELOW_FP32:
                continue
            if low in facts and high in facts:
                assert facts[low] >= facts[high], (node["id"], low, high)
        for low, high in (("peak_fp8_flops", "peak_bf16_flops"), ("peak_bf16_flops", "peak_tf32_flops")):
            if low in facts and high in facts:
                assert facts[low] >= facts[high], (node["id"], low, high)


def test_figures_are_of_the_right_size() -> None:
    """Catches a wrong prefix: a terabyte for a gigabyte, megahertz for hertz."""
    bounds = {
        "memory_bytes": (2**28, 2**39),
        "memory_bandwidth_bytes_per_s": (1e9, 2e13),
        "l2_bytes": (2**16, 2**30),
        "clock_hz": (2e8, 6e9),
        "clock_base_hz": (2e8, 6e9),
        "peak_fp32_flops": (1e10, 1e15),
        "peak_fp16_flops": (1e10, 1e16),
        "peak_int8_ops": (1e12, 1e16),
        "tdp_w": (3, 3000),
        "release_year": (2005, 2030),
        "compute_units": (1, 2000),
    }
    for node in (n for n in NODES if n["level"] == "device"):
        for name in bounds.keys() & node.get("facts", {}).keys():
            low, high = bounds[name]
            assert low <= node["facts"][name]["value"] <= high, (node["id"], name)


def test_what_a_device_reaches_is_not_above_its_peak() -> None:
    """A measured or sustained rate of a family stays below the peak of every device under it."""
    for node in (n for n in NODES if n["level"] == "device"):
        facts = facts_of(node)
        for name, value in facts.items():
            match = re.fullmatch(r"(?:measured_peak|sustained)_(\w+)", name)
            peak = facts.get(f"peak_{match[1]}") if match else None
            if peak is not None:
                assert value <= peak, (node["id"], name)


@pytest.mark.long
def test_every_device_of_the_real_cases_has_a_node() -> None:
    shared = Path(os.environ.get("TUNEGRAPH_SHARED", ROOT.parent / "shared"))
    corpora = sorted((shared / "data" / "cases").glob("*.jsonl.gz"))
    if not corpora:
        pytest.skip("no folder of real cases: set TUNEGRAPH_SHARED")
    found: set[tuple[str, str]] = set()
    for corpus in corpora:
        with gzip.open(corpus, "rt", encoding="utf-8") as lines:
            for line in lines:
                match = re.search(r'"hardware":\s*\{', line)
                assert match is not None
                hardware, _ = json.JSONDecoder().raw_decode(line, match.end() - 1)
                found.update(
                    (hardware["vendor"], hardware[field])
                    for field in ("name", "reported_name", "chip")
                    if hardware.get(field)
                )
    known = names()
    nameless = {pair for pair in found if pair[0] == "unknown"}
    assert sorted(pair for pair in found - nameless if resolve(pair[1], known) is None) == []
