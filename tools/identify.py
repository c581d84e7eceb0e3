"""Make ``data/identifiers/links.csv``: PCI ids of devices and Hugging Face ids of models.

    python -m tools.identify CLONES

``CLONES`` holds clones ``OWNER+NAME`` (or ``OWNER+NAME/repo``) of the repositories in ``LISTS`` and of
huggingface/pytorch-image-models. A device has the PCI ids whose name in a list is one of its names, in the
first list that has it; a model has the repository whose configuration is a source of its facts, a network
of timm the first weights declared. What no list names is looked up by hand: ``data/identifiers/pages.csv``.
"""

import argparse
import csv
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import yaml

import data

ROOT = Path(data.__file__).parent
OUT = ROOT / "identifiers" / "links.csv"
VENDORS = {"nvidia": "10de", "amd": "1002", "intel": "8086"}
ASCEND = {
    "ascend-310": "310",
    "ascend-310b": "310B_EP",
    "ascend-310p-series": "310P",
    "ascend-910": "910",
    "ascend-910b": "910B",
    "ascend-a3": "910_93",
    "ascend-950": "950",
}
"""Generations by their names in the vendor's driver, since pci.ids lacks them."""
LISTS = {
    "pci-ids": ("pciutils/pciids", "pci.ids", "The PCI ID Repository"),
    "libdrm": ("sailfishos-mirror/drm", "data/amdgpu.ids", "libdrm, names of AMD's devices by id"),
    "device-info": ("GPUOpen-Tools/device_info", "DeviceInfo.cpp", "AMD, device_info"),
    "driver": (
        "hicann/driver",
        "src/custom/dev_prod/user/dcmi/dcmi_inner/inc/dcmi_common.h",
        "CANN driver, ids of the generations",
    ),
}
"""Where names and PCI ids stand side by side: repository, file and title."""
_CHIP = re.compile(r"#define DCMI_D_(\w+)_DEVICE_ID\s+0x([0-9a-f]{4})")
_GFX = re.compile(r'0x([0-9A-F]{4}), 0x[0-9A-F]{2}, \w+, \w+, "(gfx\w+)"')
_CONFIG = re.compile(r"https://huggingface\.co/([\w.-]+/[\w.-]+)(?:/|$)")
_FILE = re.compile(
    r"/(?:model_configs/([\w.-]+?)--([\w.-]+?)_config\.json|models/([\w.-]+)/([\w.-]+)\.yaml)$"
)
_ORGANISATIONS = {"Google": "google"}
"""Names of folders of vllm-project/recipes that are not the organisation's own spelling."""
_WORD = re.compile(r"[a-z0-9]+")
_MAKERS = frozenset({"", "meta", "nvidia", "google"})
_VARIANT = re.compile(
    r"instruct|it|chat|base|small|hf|pt|uncased|cased|v\d|\d{4}|preview|prev|\d+k|bf16|diffusers|reasoning|original"
)
"""Words that a repository may have beyond the model's name, or lack: tuning, date, context, number format."""
_TIMM = re.compile(r"^\s+'([a-z0-9_]+)\.([a-z0-9_]+)': _cfg", re.MULTILINE)


def main() -> None:
    """Match names and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", type=Path)
    clones = parser.parse_args().clones
    timm = clone(clones, "huggingface+pytorch-image-models")
    sources, texts = {}, {}
    for key, (repository, path, title) in LISTS.items():
        folder = clone(clones, repository.replace("/", "+"))
        sources[key] = (title, address(repository, folder, path))
        texts[key] = git(folder, "show", f"HEAD:{path}")
    chips = dict(_CHIP.findall(texts["driver"]))
    rows = [(f"hardware/{node}", "pci_id", f"19e5:{chips[name]}", "driver") for node, name in ASCEND.items()]
    ids, boards = pci_ids(texts["pci-ids"])
    for name, vendor in VENDORS.items():
        lists = [("pci-ids", ids[vendor])]
        if name == "amd":
            lists += [("libdrm", drm_ids(texts["libdrm"])), ("device-info", gfx_ids(texts["device-info"]))]
        lists.append(("pci-ids", boards[vendor]))
        for device in of_level(f"hardware/{name}.yaml", "device"):
            for source, by_name in lists:
                if found := sorted({key for text in spellings(device) for key in by_name.get(text, ())}):
                    value = " ".join(f"{vendor}:{key}" for key in found)
                    rows.append((f"hardware/{device['id']}", "pci_id", value, source))
                    break
    weights = timm_weights(timm)
    for file in sorted(data.files("models", ".yaml")):
        content = yaml.safe_load(data.text(file))
        for model in content["models"]:
            page = hub_name(model, content["sources"]) or timm_name(model, weights)
            if page is None:
                continue
            hub, title, url = page
            key = hub.replace("/", "--")
            sources[key] = (
                title,
                url if url.startswith("http") else address("huggingface/pytorch-image-models", timm, url),
            )
            rows.append((f"model/{model['id']}", "hugging_face", hub, key))
    OUT.parent.mkdir(exist_ok=True)
    with OUT.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("node", "fact", "value", "source"))
        writer.writerows((f"={key}", *about, "") for key, about in sorted(sources.items()))
        writer.writerows(rows)
    print(len(rows), "identifiers")


Names = dict[str, list[str]]
"""Device ids by plain name."""


def pci_ids(text: str) -> tuple[dict[str, Names], dict[str, Names]]:
    """Device ids by vendor and by each plain name in brackets, and by the names of boards with the device.

    ``RX 570/580`` names two.
    """
    found: dict[str, Names] = defaultdict(lambda: defaultdict(list))
    boards: dict[str, Names] = defaultdict(lambda: defaultdict(list))
    vendor = key = ""
    for line in text.splitlines():
        if line.startswith("C "):  # classes come after the devices
            break
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith("\t"):
            vendor = line[:4]
        elif line.startswith("\t\t"):
            boards[vendor][plain(line[11:])].append(key)
        else:
            key, name = line[1:5], line[5:].strip()
            inside = re.search(r"\[(.*)\]", name)
            for text_ in alternatives(inside[1] if inside else name):
                found[vendor][plain(text_)].append(key)
    return found, boards


def drm_ids(text: str) -> Names:
    """Device ids by each plain name that libdrm has, without the maker's name."""
    found: Names = defaultdict(list)
    for line in text.splitlines():
        if len(cells := line.split(",\t")) == 3:
            for name in alternatives(cells[2].removeprefix("AMD ")):
                found[plain(name)].append(cells[0].lower())
    return found


def gfx_ids(text: str) -> Names:
    """Device ids by what a part is called that has no name but its instruction set's."""
    found: Names = defaultdict(list)
    for key, name in _GFX.findall(text):
        found[plain(f"Radeon Graphics {name}")].append(key.lower())
    return found


def alternatives(name: str) -> set[str]:
    """The names that a name with slashes stands for: each may go on from words of the first."""
    first, *others = (part.strip() for part in name.split("/"))
    words = first.split()
    return {first} | {" ".join([*words[:keep], other]) for other in others for keep in range(len(words))}


def spellings(device: dict[str, Any]) -> set[str]:
    """The plain names of a device, as pci.ids would write them."""
    found = set()
    for name in (device["label"]["en"], *device.get("aliases", ())):
        text = re.sub(r"\bwith Max-Q Design\b", "Max-Q", name)
        text = re.sub(r"\b(NVIDIA|AMD|Intel|Graphics|Generation)\b", "", text)
        mobile = re.sub(r"\bLaptop( GPU)?\b", "Mobile", text)
        for one in (
            name,
            text,
            mobile,
            re.sub(r"\b(GPU|Laptop)\b", "", text) if "Laptop" not in text else text,
        ):
            found.add(plain(one))
        if len(text.split()) == 3:  # A100 80GB PCIe is A100 PCIe 80GB there
            a, b, c = text.split()
            found.add(plain(f"{a} {c} {b}"))
    return {text for text in found if len(text) > 1 and not text.isdecimal()}


def plain(text: str) -> str:
    """Letters and digits alone, in lower case."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def of_level(file: str, level: str) -> list[dict[str, Any]]:
    """The nodes of a level in a hardware file."""
    return [node for node in yaml.safe_load(data.text(file))["hardware"] if node["level"] == level]


def hub_name(model: dict[str, Any], sources: dict[str, Any]) -> tuple[str, str, str] | None:
    """The repository at Hugging Face that a source of a model's facts is, with title and address."""
    facts = model.get("facts") or {}
    named = [fact["source"] for fact in facts.values() if isinstance(fact, dict) and "source" in fact]
    for key in sorted(set(named), key=lambda key: (-named.count(key), key)):
        about = sources[key]
        url = about.get("url", "")
        config, file = _CONFIG.match(url), _FILE.search(url)
        if config is not None:
            owner, name = config[1].split("/")
        elif file is not None:
            owner, name = (file[1], file[2]) if file[1] else (file[3], file[4])
        else:
            continue
        if is_of(name, model):
            return f"{_ORGANISATIONS.get(owner, owner)}/{name}", about["title"], url
    return None


def is_of(repository: str, model: dict[str, Any]) -> bool:
    """Whether a repository is a model's own: it has its name, and beyond that only words for a variant.

    A source of a fact may be another model, such as the one that it was made from, or a quantised copy.
    """
    words = [word for word in _WORD.findall(repository.lower()) if word not in _MAKERS]
    for name in (model["id"], model["label"]["en"], *model.get("aliases", ())):
        own = [word for word in _WORD.findall(name.lower()) if word not in _MAKERS]
        rest = (
            words[len(own) :]
            if words[: len(own)] == own
            else own[len(words) :]
            if own[: len(words)] == words
            else None
        )
        if own and words and rest is not None and all(_VARIANT.fullmatch(word) for word in rest):
            return True
    return False


def timm_weights(timm: Path) -> dict[str, tuple[str, str]]:
    """The first weights that timm declares for each network, and the file that does."""
    found: dict[str, tuple[str, str]] = {}
    for path in git(timm, "ls-tree", "-r", "--name-only", "HEAD", "timm/models").split():
        for name, tag in _TIMM.findall(git(timm, "show", f"HEAD:{path}")):
            found.setdefault(plain(name), (f"timm/{name}.{tag}", path))
    return found


def timm_name(model: dict[str, Any], weights: dict[str, tuple[str, str]]) -> tuple[str, str, str] | None:
    """The weights at Hugging Face of a network that timm has under one of its names."""
    for name in (model["id"], model["label"]["en"], *model.get("aliases", ())):
        if found := weights.get(plain(name)):
            return found[0], f"timm, {found[1]}", found[1]
    return None


def clone(clones: Path, name: str) -> Path:
    """The folder of a clone."""
    return clones / name / "repo" if (clones / name / "repo").is_dir() else clones / name


def address(repository: str, folder: Path, path: str) -> str:
    """The address of a file at the commit of a clone."""
    return f"https://github.com/{repository}/blob/{git(folder, 'rev-parse', 'HEAD').strip()}/{path}"


def git(folder: Path, *arguments: str) -> str:
    """What git prints."""
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace")


if __name__ == "__main__":
    main()
