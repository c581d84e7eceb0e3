from datetime import date
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from kg.errors import CaseFormatError, InputError
from recommender.cost_model.fit.calibrate import calibrate, folds
from recommender.cost_model.fit.measurements import read_rows, table
from recommender.cost_model.operators.kinds import KINDS, load, reference_device

pytestmark = pytest.mark.skipif(
    find_spec("sklearn") is None, reason="scikit-learn comes with the extra learn"
)

HEADER = "op,dtype,m,n,k,measured_us,source,group\n"


def matmul_file(folder: Path, *, slower: float = 1.0) -> Path:
    """A table of products timed by the formula itself, on a machine that is slower by a factor."""
    kind = KINDS["matmul_bf16"]
    path = folder / "matmul_bf16.csv"
    lines = []
    for n, k in ((256, 512), (1024, 1024), (4096, 1024), (2048, 4096), (8192, 2048), (7168, 4096)):
        for m in (1, 16, 128, 1024, 4096):
            x = np.array([[float(m), n, k]])
            time = slower * kind.analytic(reference_device(), x, kind.prior)[0][0]
            lines.append(f"MatMul,bf16,{m},{n},{k},{time:.3f},test,{n}x{k}\n")
    path.write_text(HEADER + "".join(lines), encoding="utf-8")
    return path


def test_calibration_finds_the_machine_and_stores_its_error(tmp_path: Path) -> None:
    path = matmul_file(tmp_path, slower=1.3)
    found = calibrate([path], tmp_path / "out", on=date(2026, 1, 2), quick=True)
    header = found["matmul_bf16"].header
    assert header["date"] == "2026-01-02"
    assert header["groups"] == 6
    assert float(str(header["left_out_median_percent"])) < 5
    again = load(tmp_path / "out")
    x = np.array([[64.0, 2048, 2048]])
    known = KINDS["matmul_bf16"]
    truth = 1.3 * known.analytic(reference_device(), x, known.prior)[0]
    assert again["matmul_bf16"].times_us(reference_device(), x) == pytest.approx(truth, rel=0.15)


def test_repeats_of_a_shape_are_merged_by_their_geometric_mean(tmp_path: Path) -> None:
    path = tmp_path / "matmul_bf16.csv"
    path.write_text(HEADER + "a,b,1,2,3,4.0,s,g\na,b,1,2,3,9.0,s,g\n", encoding="utf-8")
    rows = table(path, KINDS["matmul_bf16"], read_rows(path))
    assert rows.measured_us == pytest.approx([6.0])


def test_every_fault_of_a_table_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "matmul_bf16.csv"
    path.write_text(HEADER + "a,b,1,2,3,-4,s,g\na,b,0,2,3,9,s,g\na,b,1,2,x,9,s,g\n", encoding="utf-8")
    with pytest.raises(CaseFormatError) as told:
        table(path, KINDS["matmul_bf16"], read_rows(path))
    assert [fault.place for fault in told.value.faults] == ["line 2", "line 3", "line 4"]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weather.csv"
    path.write_text("day,rain\nmonday,3\n", encoding="utf-8")
    with pytest.raises(InputError, match="table of measured operators"):
        calibrate([path], tmp_path / "out", on=date(2026, 1, 2))
    assert not (tmp_path / "out").exists()


def test_missing_and_empty_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_rows(tmp_path / "nothing.csv")
    empty = tmp_path / "matmul_bf16.csv"
    empty.write_text(HEADER, encoding="utf-8")
    with pytest.raises(CaseFormatError, match="no rows"):
        read_rows(empty)


def test_folds_leave_every_group_out_once_and_whole() -> None:
    groups = np.array(["a", "b", "a", "c", "b", "d"])
    masks = list(folds(groups, 3))
    assert np.all(np.sum(masks, axis=0) == 1)
    for mask in masks:
        assert not set(groups[mask]) & set(groups[~mask])
