"""Questions do not load the search."""

from __future__ import annotations

import subprocess
import sys


def test_the_query_path_imports_no_search() -> None:
    script = (
        "import sys\n"
        "import recommender.answers.recommend, recommender.workspace, recommender.answers.explanation\n"
        "print([m for m in sys.modules if m.startswith('recommender.search') or m.split('.')[0] == 'optuna'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_search_needs_neither_optuna_nor_learning_libraries() -> None:
    script = (
        "import sys\n"
        "import recommender.search.engine.search\n"
        "heavy = {'optuna', 'scipy', 'sklearn', 'torch', 'rdflib'}\n"
        "print(sorted(heavy & {m.split('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
