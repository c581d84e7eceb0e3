"""Results as benchmarks and trainers print and save them: the print statements of their releases on small numbers.

Each entry: name of the file, its text, and what a reader must find in it, in SI units. The files stand in ``printed``.
"""

import json
from pathlib import Path

import yaml

FOLDER = Path(__file__).with_name("printed")
_EXPECTED = yaml.safe_load((FOLDER / "expected.yaml").read_text(encoding="utf-8"))


def _samples(group: str) -> dict[str, tuple[str, str, dict[str, float]]]:
    read = {}
    for tool, entry in _EXPECTED[group].items():
        path = FOLDER / entry["file"]
        read[tool] = (path.name, path.read_bytes().decode(), entry["values"])
    return read


OUTPUTS = _samples("newest")
"""Name of the file, its text and the metrics in it, by what wrote it."""
OLDER = _samples("older")
"""Forms of older releases, and forms beside the usual ones."""
VLLM_SERVE = json.loads(OUTPUTS["vllm bench serve, saved"][1])
