"""A study of Optuna in SQLite."""

import json
import sqlite3
from pathlib import Path

CHOICES = json.dumps({"name": "CategoricalDistribution", "attributes": {"choices": [16, "wide", None]}})
WHOLE = json.dumps({"name": "IntDistribution", "attributes": {"low": 1, "high": 4, "step": 1, "log": False}})
SCHEMA = """
CREATE TABLE studies (study_id INTEGER, study_name TEXT);
CREATE TABLE study_directions (direction TEXT, study_id INTEGER, objective INTEGER);
CREATE TABLE study_user_attributes (study_id INTEGER, "key" TEXT, value_json TEXT);
CREATE TABLE study_system_attributes (study_id INTEGER, "key" TEXT, value_json TEXT);
CREATE TABLE trials (trial_id INTEGER, number INTEGER, study_id INTEGER, state TEXT);
CREATE TABLE trial_params (param_id INTEGER, trial_id INTEGER, param_name TEXT, param_value FLOAT,
    distribution_json TEXT);
CREATE TABLE trial_values (trial_id INTEGER, objective INTEGER, value FLOAT, value_type TEXT);
CREATE TABLE trial_user_attributes (trial_id INTEGER, "key" TEXT, value_json TEXT);
"""


def database(path: Path) -> sqlite3.Connection:
    made = sqlite3.connect(path)
    made.executescript(SCHEMA)
    made.executescript("""
        INSERT INTO studies VALUES (1, 'gemm on a100');
        INSERT INTO study_directions VALUES ('MAXIMIZE', 1, 0);
        INSERT INTO study_user_attributes VALUES (1, 'hardware', '"A100"'), (1, 'kernel', '"gemm"'),
            (1, 'metric', '"compute_rate"'), (1, 'unit', '"GFLOP/s"'), (1, 'problem_size', '[64, 64]');
        INSERT INTO trials VALUES (1, 0, 1, 'COMPLETE'), (2, 1, 1, 'PRUNED'), (3, 2, 1, 'PRUNED'),
            (4, 3, 1, 'FAIL'), (5, 4, 1, 'RUNNING'), (6, 5, 1, 'COMPLETE'), (7, 6, 1, 'COMPLETE');
        INSERT INTO trial_values VALUES (1, 0, 250, 'FINITE'), (6, 0, NULL, 'INF_POS');
        INSERT INTO trial_user_attributes VALUES (2, 'status', '"restricted"'), (4, 'reason', '"no memory"');
    """)
    made.executemany(
        "INSERT INTO trial_params VALUES (?, ?, ?, ?, ?)",
        [(1, 1, "tile", 1.0, CHOICES), (2, 1, "warps", 2.0, WHOLE), (3, 7, "tile", 9.0, CHOICES)],
    )
    made.commit()
    return made
