"""Findings on the settings of a script, by rule."""

from ingest.questions.launches.running import running_settings
from kg.terms.conditions import FactValue
from recommender.audit.audit import shipped_rules
from recommender.audit.case import AuditCase
from recommender.audit.finding import SettingFinding
from recommender.audit.judge import judge_settings


def judged(
    script: str, program: str = "vllm", version: str = "0.33.0", *, told: bool = True, **facts: FactValue
) -> dict[str, SettingFinding]:
    case = AuditCase(
        settings=running_settings(script), program=program, version=version, is_told=told, facts=facts
    )
    return {item.rule: item for item in judge_settings(case, shipped_rules())}
