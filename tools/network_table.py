r"""The table of networks known by their operations, ``data/models/networks.csv``.

    python -m tools.network_table --timm DIR --zoo DIR --mmpretrain DIR --mmaction DIR --paddle DIR \
        --torchvision WHEEL > data/models/networks.csv

Folders are clones of pytorch-image-models, open_model_zoo, mmpretrain, mmaction2 and PaddleClas; the wheel is
torchvision's. Where several state a network, the first of them counts. One multiply-add is two operations.
"""

import argparse
import csv
import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from kg.triples.names import normalise

COLUMNS = ("name", "parameters", "flops_per_sample", "image_size", "activations_per_sample", "source", "note")
TIMM = ("pt291-cu130-pro6000maxq", "pt240-cu124-rtx3090", "pt113-cu117-rtx3090")
"""Tables of timm's releases; older ones have networks that were renamed."""
ZOO = ("HEAD", "dc392048fc72f26dd23be33140f1fda7e4200c39", "091983f6bc151306a786d955bbbe259e09efebad")
"""Commits of the model zoo; networks were taken out of it with time."""
DETECTION_SIDE = 800
"""Input of torchvision's counts of detectors: they are to mmdetection's at 800 x 1280 as 800 to 1280."""
_TRAINING = re.compile(
    r"_(3rdparty|\d+xb|in1k|in21k|imagenet|b\d|timm|cifar|official|zeroshot|coco|caption|vqa).*"
)
_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRow:
    """Operations and size of one network.

    Attributes:
        name: As its source writes it.
        flops: Forward operations of one sample.
        parameters: Trained numbers; 0 if not stated.
        pixels: Area of the input in pixels; 0 if not stated.
        activations: Elements that its layers write for a sample; 0 if not stated.
        source: Address of the page.
        note: What was derived.
    """

    name: str
    flops: float
    parameters: float = 0.0
    pixels: float = 0.0
    activations: float = 0.0
    source: str = ""
    note: str = ""


def show(repository: Path, commit: str, path: str) -> str:
    """Text of a file at a commit."""
    command = ["git", "-C", str(repository), "show", f"{commit}:{path}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def listed(repository: Path, commit: str, path: str, *, deep: bool = False) -> list[str]:
    """Names below a folder at a commit."""
    where = [commit, path] if deep else [f"{commit}:{path}"]
    command = ["git", "-C", str(repository), "ls-tree", *(["-r"] if deep else []), "--name-only", *where]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def address(repository: Path, project: str, commit: str, path: str) -> str:
    """Where a stranger opens a file."""
    full = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", commit], capture_output=True, text=True, check=True
    ).stdout.strip()
    return f"https://github.com/{project}/blob/{full}/{path}"


def timm_rows(folder: Path) -> Iterator[NetworkRow]:
    """Every network of timm, with what its layers write."""
    for table in TIMM:
        path = f"results/benchmark-infer-amp-nchw-{table}.csv"
        page = address(folder, "huggingface/pytorch-image-models", "HEAD", path)
        for row in csv.DictReader(io.StringIO(show(folder, "HEAD", path))):
            if row["infer_gmacs"] and not row["model"].startswith("test_"):
                yield NetworkRow(
                    name=row["model"].split(".")[0],
                    flops=2e9 * float(row["infer_gmacs"]),
                    parameters=1e6 * float(row["param_count"]),
                    pixels=float(row["infer_img_size"]) ** 2,
                    activations=1e6 * float(row["infer_macts"]),
                    source=page,
                )


def torchvision_rows(wheel: Path) -> Iterator[NetworkRow]:
    """Networks of torchvision, as the weights describe them."""
    release = f"v{wheel.name.split('-')[1]}"
    with zipfile.ZipFile(wheel) as held:
        for path in held.namelist():
            if not re.match(r"torchvision/models/(?!quantization).*\.py$", path):
                continue
            text = held.read(path).decode()
            for name, body in re.findall(
                r"class (\w+)_Weights\(WeightsEnum\):(.*?)(?=\nclass |\n@register|\ndef |\Z)", text, re.DOTALL
            ):
                count = re.search(r'"num_params": ([\d_]+)', body)
                work = re.search(r'"_ops": ([\d.]+)', body)
                side = re.search(r"crop_size=\(?(\d+)", body) or re.search(r"resize_size=(\d+)", body)
                stated = int(side.group(1)) if side else DETECTION_SIDE if "detection" in path else 0
                if count and work:
                    yield NetworkRow(
                        name=name.lower(),
                        flops=2e9 * float(work.group(1)),
                        parameters=float(count.group(1)),
                        pixels=stated**2,
                        source=f"https://github.com/pytorch/vision/blob/{release}/{path}",
                    )


def zoo_rows(folder: Path) -> Iterator[NetworkRow]:
    """Networks of OpenVINO's model zoo; their pages count operations, not multiply-adds."""
    for commit in ZOO:
        for name in listed(folder, commit, "models/public"):
            path = f"models/public/{name}/README.md"
            try:
                text = show(folder, commit, path)
            except subprocess.CalledProcessError:
                continue
            work = re.search(r"\|\s*GFLOPs?\s*\|\s*([\d.]+)", text, re.IGNORECASE)
            count = re.search(r"\|\s*MParams\s*\|\s*([\d.]+)", text, re.IGNORECASE)
            sides = re.search(r"shape[:*` -]*`?\s*`?1, ?3, ?(\d+), ?(\d+)", text, re.IGNORECASE) or re.search(
                r"shape[:*` -]*`?\s*`?1, ?(\d+), ?(\d+), ?3", text, re.IGNORECASE
            )
            if work:
                yield NetworkRow(
                    name=re.sub(r"[-_](tf|pytorch|onnx|caffe2?|mxnet|coco)(?=$|[-_])", "", name),
                    flops=1e9 * float(work.group(1)),
                    parameters=1e6 * float(count.group(1)) if count else 0.0,
                    pixels=float(sides.group(1)) * float(sides.group(2)) if sides else 0.0,
                    source=address(folder, "openvinotoolkit/open_model_zoo", commit, path),
                )


def metafile_rows(folder: Path, project: str) -> Iterator[NetworkRow]:
    """Networks of an OpenMMLab project, from its metafiles, which count multiply-adds."""
    for path in listed(folder, "HEAD", "configs", deep=True):
        if not path.endswith("metafile.yml"):
            continue
        page = address(folder, project, "HEAD", path)
        content = yaml.safe_load(show(folder, "HEAD", path))
        for entry in (content.get("Models") or []) if isinstance(content, dict) else []:
            stated = entry.get("Metadata") or {}
            side = str(stated.get("Resolution", "")).split("x")[0]
            if work := _amount(stated.get("FLOPs")):
                name = entry["Name"]
                yield NetworkRow(
                    name=_TRAINING.sub("", name) if "pretrain" in project else name,
                    flops=2 * work,
                    parameters=_amount(stated.get("Parameters")),
                    pixels=float(side) ** 2 if side.isdigit() else 0.0,
                    source=page,
                )


def _amount(stated: object) -> float:
    """A number such as ``25.6M``; 0 where none is stated."""
    match = re.match(r"([\d.,]+)\s*([KMGT]?)", str(stated or ""))
    return float(match.group(1).replace(",", "")) * _UNITS[match.group(2)] if match else 0.0


def paddle_rows(folder: Path) -> Iterator[NetworkRow]:
    """Networks of PaddleClas, from the tables of its document of ImageNet models."""
    path = "docs/en/algorithm_introduction/ImageNet_models_en.md"
    page = address(folder, "PaddlePaddle/PaddleClas", "HEAD", path)
    head: list[str] = []
    for line in show(folder, "HEAD", path).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        row = dict(zip(head, cells, strict=False))
        head = (head or cells) if cells else []
        work = next((name for name in row if name.startswith("FLOPs")), "")
        count = next((name for name in row if name.startswith("Params")), "")
        if work and re.fullmatch(r"[\d.]+", row[work]):
            known = re.fullmatch(r"[\d.]+", row.get(count, ""))
            yield NetworkRow(
                name=re.sub("<.*?>", "", cells[0]).strip(),
                flops=float(row[work]) * (2e9 if "G" in work else 2e6),
                parameters=1e6 * float(row[count]) if known else 0.0,
                pixels=224.0**2,
                source=page,
            )


def variant_rows(path: Path, rows: dict[str, NetworkRow]) -> Iterator[NetworkRow]:
    """Networks that follow from others of the table, or from a paper."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    made: dict[str, NetworkRow] = {}
    for entry in content["variants"]:
        size = entry.get("size")
        pixels = float(size[0] * size[1]) if size else 0.0
        if "like" in entry:
            base = made.get(normalise(entry["like"])) or rows[normalise(entry["like"])]
            scale = pixels / base.pixels if pixels and base.pixels else 1.0
            text = f"{base.name}" + (f" at {size[0]} x {size[1]}" if size else "")
            row = NetworkRow(
                name=entry["name"],
                flops=base.flops * scale,
                parameters=base.parameters,
                pixels=pixels or base.pixels,
                activations=base.activations * scale,
                source=base.source,
                note="; ".join(filter(None, (text, entry.get("note", "")))),
            )
        else:
            row = NetworkRow(
                name=entry["name"],
                flops=2e9 * entry["gmacs"],
                parameters=1e6 * entry["mparams"],
                pixels=pixels,
                source=entry["source"],
                note=entry.get("note", ""),
            )
        for name in (entry["name"], *entry.get("alias", ())):
            made[normalise(name)] = row
            yield NetworkRow(
                name=name,
                flops=row.flops,
                parameters=row.parameters,
                pixels=row.pixels,
                activations=row.activations,
                source=row.source,
                note=row.note,
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("timm", "zoo", "mmpretrain", "mmaction", "paddle", "torchvision"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    chosen = parser.parse_args()
    rows: dict[str, NetworkRow] = {}
    for part in (
        timm_rows(chosen.timm),
        torchvision_rows(chosen.torchvision),
        zoo_rows(chosen.zoo),
        metafile_rows(chosen.mmpretrain, "open-mmlab/mmpretrain"),
        metafile_rows(chosen.mmaction, "open-mmlab/mmaction2"),
        paddle_rows(chosen.paddle),
    ):
        for row in part:
            rows.setdefault(normalise(row.name), row)
    for row in variant_rows(Path(__file__).with_name("network_variants.yaml"), dict(rows)):
        rows[normalise(row.name)] = row
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    sources = {page: f"s{place}" for place, page in enumerate(dict.fromkeys(r.source for r in rows.values()))}
    for page, short in sources.items():
        out.writerow((f"={short}", page))
    for row in sorted(rows.values(), key=lambda row: normalise(row.name)):
        side = round(row.pixels**0.5) if row.pixels else ""
        numbers = (f"{number:.0f}" if number else "" for number in (row.parameters, row.flops))
        written = f"{row.activations:.0f}" if row.activations else ""
        out.writerow((row.name, *numbers, side, written, sources[row.source], row.note))


if __name__ == "__main__":
    main()
