"""FlagPerf's READMEs."""

from pathlib import Path

from ingest.door.records import NameResolver
from tests.samples.readings import ingest


def test_flagperf_settings_and_layouts(names: NameResolver, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "- 加速卡型号: A100\n\n| 指标名称 | 指标值 |\n| --- | --- |\n| 模型 | glm |\n\n"
        "| 配置 | precision | fix_hp | p_core |\n| --- | --- | --- | --- |\n"
        "| A100单机8卡（1x8） | fp16 | bs=24,lr=0.00035 | 25.5 |\n| A100两机8卡（2x8） | fp16 | / | |\n"
        "| A100 | fp16 | bs=1 | 2 |\n| A100单卡（1x1） | fp16 | fast | 2 |\n"
    )
    cases, report = ingest(names, tmp_path / "README.md")
    assert dict(cases[0].configuration) == {"precision": "fp16", "bs": 24, "lr": 0.00035}
    assert [case.problem.hardware.count for case in cases] == [8, 16]
    assert [case.measurement.value for case in cases] == [25.5, None]
    assert [fault.place for fault in report.faults] == ["line 11", "line 12"]
