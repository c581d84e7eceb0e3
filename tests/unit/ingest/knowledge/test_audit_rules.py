"""Rules of the audit: what a file may say, and every fault of one that says something else."""

import pytest

import data
from ingest.knowledge.audit_rules import read_audit_rules
from kg.errors import CaseFormatError
from kg.nouns.audit import FindingKind
from kg.terms.setting_registry import registry, softwares
from recommender.audit.audit import shipped_rules

RULE = """sources: {us: {title: ours, url: "https://example.org"}}
rules:
  - id: own
    kind: limit
    level: note
    programs: [vllm]
    settings: [--swap-space]
    above: 8
    unless: "pooling"
    says: {en: "takes memory of the host"}
    source: us
"""


def test_a_rule_is_read() -> None:
    [rule] = read_audit_rules(RULE, "own.yaml")
    assert rule.kind is FindingKind.LIMIT
    assert rule.costs("9")
    assert not rule.costs("8")
    assert not rule.costs("much")
    assert rule.source.url == "https://example.org"


def test_all_faults_of_a_file_are_told_at_once() -> None:
    text = RULE.replace("kind: limit", "kind: odd").replace("[vllm]", "[vlllm]")
    text = text.replace('unless: "pooling"', 'unless: "poling"').replace("source: us", "source: them")
    text = text.replace("above: 8", "above: eight\n    typo: 1")
    with pytest.raises(CaseFormatError) as caught:
        read_audit_rules(text, "own.yaml")
    said = "\n".join(map(str, caught.value.faults))
    assert len(caught.value.faults) == 6
    for word in ("odd", "vlllm", "pooling", "them", "above", "typo"):
        assert word in said


@pytest.mark.parametrize("text", ["", "rules: []", "- 1", "rules: [{id: a}, {id: a}]", "a: &b 1"])
def test_what_is_no_file_of_rules_is_refused(text: str) -> None:
    with pytest.raises(CaseFormatError):
        read_audit_rules(text, "own.yaml")


def test_shipped_rules_have_sources_two_languages_and_ids_of_their_own() -> None:
    rules = shipped_rules()
    assert len(rules) >= 70
    assert len({rule.id for rule in rules}) == len(rules)
    for rule in rules:
        assert rule.source.url.startswith("https://"), rule.id
        for texts in (rule.says, rule.cost, rule.right):
            assert not texts or set(texts) == {"en", "zh"}, rule.id


def test_settings_of_a_shipped_rule_are_in_the_registry_of_one_of_its_programs() -> None:
    """A rule about a flag that no release has would never fire."""
    unknown = []
    for rule in shipped_rules():
        shipped = [name for name in rule.programs if name in softwares()]
        for key in rule.settings if shipped else ():
            section, _, field = key.rpartition(
                "."
            )  # of accelerate's file its flags, of Transformers' without a word
            forms = (key, f"--{field}", f"--fsdp_{field}") if section == "fsdp_config" else (key,)
            looked = (registry(name).find(one, None, "") for name in shipped for one in forms)
            layers = (layer for name in shipped for layer in registry(name).at().layers())
            if not any(looked) and not any(layer.registry.find(key) for layer in layers):
                unknown.append(f"{rule.id}: {key}")
    assert unknown == []


def test_the_files_are_those_that_ship() -> None:
    assert sum(len(read_audit_rules(data.text(name), name)) for name in data.files("audit", ".yaml")) == len(
        shipped_rules()
    )
