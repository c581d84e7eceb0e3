"""Recipe JSONL of vllm-ascend's CI, from a checkout of one commit.

    python tools/mine_ascend_ci.py CHECKOUT COMMIT > recipes.jsonl

The nightly matrix says which configuration runs on which generation; one that it does not name, and whose
file name does not say it either, is left out. Faults go to stderr.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from ingest.formats.recipes.recipe_jsonl import write
from ingest.reading import FileReport, read
from kg.errors import InputError
from kg.nouns.recipe import Recipe
from tools.shipped_names import shipped_names

REPOSITORY = "https://github.com/vllm-project/vllm-ascend/blob"
MATRICES = ".github/workflows/configs/{}_config.yaml"
FOLDERS = ("tests/e2e/nightly", "tests/e2e/weekly")


def generations(checkout: Path) -> dict[str, str]:
    """Generation by configuration file name, where the matrices name one only."""
    found: dict[str, set[str]] = {}

    def walk(content: object, generation: str) -> None:
        if isinstance(content, dict):
            name = content.get("config_file_path")
            if isinstance(name, str):
                found.setdefault(Path(name).name, set()).add(generation)
            for inner in content.values():
                walk(inner, generation)
        elif isinstance(content, list):
            for inner in content:
                walk(inner, generation)

    for matrix in ("nightly", "weekly"):
        text = (checkout / MATRICES.format(matrix)).read_text(encoding="utf-8")
        for section, content in yaml.safe_load(text).items():
            walk(content, section.partition("-")[0].upper())  # a3-560t is another cluster of A3
    return {name: next(iter(known)) for name, known in found.items() if len(known) == 1}


def recipes(checkout: Path, commit: str) -> Iterator[Recipe]:
    """Every recipe whose hardware is stated."""
    known = generations(checkout)
    names = shipped_names()
    for folder in FOLDERS:
        for path in sorted((checkout / folder).rglob("*.yaml")):
            url = f"{REPOSITORY}/{commit}/{path.relative_to(checkout)}"
            try:
                items = read([path], names, source=url, hardware=known.get(path.name, ""))
            except InputError as error:
                print(error, file=sys.stderr)
                continue
            for item in items:
                if isinstance(item, FileReport):
                    for fault in item.faults:
                        print(f"{path.name}: {fault}", file=sys.stderr)
                elif isinstance(item, Recipe) and item.hardware:
                    yield item
                else:
                    print(f"{path.name}: hardware not stated", file=sys.stderr)


def main() -> None:
    """Print the recipes of a checkout, a line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="sources of vllm-ascend")
    parser.add_argument("commit", help="commit that is checked out there")
    options = parser.parse_args()
    sys.stdout.writelines(write(recipes(options.checkout, options.commit)))


if __name__ == "__main__":
    main()
