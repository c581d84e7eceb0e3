"""Searches a Python function over blocks of a matrix product, starting from what the C kernel taught."""

import time

import numpy as np

import tunegraph

FILE = {
    "problem": {
        "op": "blocked_matmul",
        "phase": "kernel",
        "shape": {"M": 512, "N": 512, "K": 512},
        "precision": "float32",
        "hardware": "xeon-virtual-6-167",
    },
    "parameters": {"tile_m": [4, 64, 256], "tile_n": [32, 128, 512], "tile_k": [32, 128, 512]},
    "objectives": ["kernel_time"],
}


def product_time_s(tile_m: int, tile_n: int, tile_k: int) -> float:
    """Time of a blocked product of two matrices of 512 x 512."""
    a, b, c = (np.ones((512, 512), np.float32) for _ in range(3))
    began = time.perf_counter()
    for i in range(0, 512, tile_m):
        for j in range(0, 512, tile_n):
            for k in range(0, 512, tile_k):
                c[i : i + tile_m, j : j + tile_n] += (
                    a[i : i + tile_m, k : k + tile_k] @ b[k : k + tile_k, j : j + tile_n]
                )
    return time.perf_counter() - began


def main() -> None:
    """Evaluate ten configurations and print the best."""
    with tunegraph.open() as workspace:
        prepared = workspace.searches.prepare({"name": "blocks", **FILE}, base={})
    search = tunegraph.Search(
        space=prepared.task.space, objectives=prepared.task.objectives, sources=prepared.sources
    )
    for _ in range(10):
        [suggestion] = search.ask()
        cost = product_time_s(**{name: int(str(value)) for name, value in suggestion.configuration.items()})
        search.tell(
            tunegraph.Evaluation(configuration=suggestion.configuration, values=(cost,)), suggestion.number
        )
    print(f"{len(prepared.sources)} known problems; the best: {search.incumbent}")


if __name__ == "__main__":
    main()
