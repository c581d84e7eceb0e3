"""FAISS agrees with brute force, whatever was added, indexed and acknowledged before."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from embeddings import index as index_module
from embeddings.index import ProblemIndex
from kg.rows.trials_file import open_file

D = 4
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 12)),
        st.tuples(st.just("index"), st.just(0)),
        st.tuples(st.just("reopen"), st.just(0)),
    ),
    max_size=14,
)


@settings(max_examples=25, deadline=None)
@given(steps=STEPS, seed=st.integers(0, 2**16), k=st.integers(1, 20), hidden=st.integers(0, 3))
def test_faiss_agrees_with_brute_force(steps: list[tuple[str, int]], seed: int, k: int, hidden: int) -> None:
    rng = np.random.default_rng(seed)
    batch, rows = 0, np.empty((0, D), np.float32)
    batches: list[int] = []
    keys: list[int] = []
    unindexed, index_module.UNINDEXED_ROWS = index_module.UNINDEXED_ROWS, 0
    try:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            file = open_file(folder / "rows.sqlite3", read_only=False)
            index = ProblemIndex(file, folder, D, "hash")
            for step, amount in steps:
                if step == "append":
                    batch += 1
                    new = rng.normal(size=(amount, D)).astype(np.float32)
                    fresh = rng.integers(1, 2**40, size=amount)
                    index.table.append(fresh, batch, new)
                    rows = np.concatenate([rows, new])
                    keys += fresh.tolist()
                    batches += [batch] * amount
                elif step == "index":
                    index.catch_up()
                else:
                    index = ProblemIndex(file, folder, D, "hash")
            acknowledged = max(0, batch - hidden)
            asked = rng.normal(size=D).astype(np.float32)
            seen = sum(number <= acknowledged for number in batches)
            order = np.argsort(np.linalg.norm(rows[:seen] - asked, axis=1), kind="stable")[:k]
            found = index.search(asked, k, acknowledged)
            assert found.keys.tolist() == [keys[row] for row in order]
            assert index.verify() == []
            file.close()
    finally:
        index_module.UNINDEXED_ROWS = unindexed
