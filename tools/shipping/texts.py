"""Makes the vectors of the shipped texts: ``python -m tools.shipping.texts`` (it needs the text model).

A new workspace then has them without running the model. Texts that came later are encoded when they are met.
"""

import argparse
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from embeddings.text_encoder import DEFAULT_HASH, DEFAULT_MODEL
from recommender.workspace.workspace import Workspace

FOLDER = Path(__file__).resolve().parents[2] / "data" / "retrieval"


def main() -> None:
    """Encode the texts and write ``texts.json`` and ``texts.f16`` to ``data/retrieval``."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name in ("texts.json", "texts.f16"):  # none is taken over from an older run
        (FOLDER / name).write_bytes(b'{"texts": [], "encoder_hash": ""}' if name.endswith("json") else b"")
    with TemporaryDirectory() as place:
        root = Path(place) / "workspace"
        Workspace.create(root, cache=Path(place) / "cache", text_model=DEFAULT_MODEL)
        with closing(sqlite3.connect(root / "texts.sqlite3")) as connection:
            rows = connection.execute(
                "SELECT text, vector FROM vectors WHERE encoder = ? ORDER BY text", (DEFAULT_HASH,)
            ).fetchall()
    texts = {"encoder_hash": DEFAULT_HASH, "texts": [text for text, _ in rows]}
    (FOLDER / "texts.json").write_text(json.dumps(texts, indent=1) + "\n", encoding="utf-8")
    vectors = np.array([np.frombuffer(vector, "<f4") for _, vector in rows])
    (FOLDER / "texts.f16").write_bytes(vectors.astype("<f2").tobytes())
    print(f"{len(rows)} texts")


if __name__ == "__main__":
    main()
