"""Writing of Kernel Tuner's T4 format: configurations to try."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ingest.formats.kernels.kernel_tuner_t4 import SCHEMA_VERSION
from kg.nouns.entities import Configuration


def t4_of_choices(configurations: Sequence[Configuration]) -> str:
    """Configurations to try, best first, as T4 without a single measurement."""
    results = [
        {
            "configuration": item.to_json(),
            "invalidity": "correct",
            "correctness": 0,
            "objectives": [],
            "times": {},
            "measurements": [],
        }
        for item in configurations
    ]
    note = "recommended, best first; nothing here was measured, no result was checked"
    metadata = {"timeunit": "ms", "note": note}
    document = {"schema_version": SCHEMA_VERSION, "metadata": metadata, "results": results}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
