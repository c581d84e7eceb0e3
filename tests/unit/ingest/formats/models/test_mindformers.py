"""Links of a model card that are no path."""

from pathlib import Path

import pytest

from ingest.door.records import NameResolver, Records
from ingest.files.content import ContentError
from ingest.formats.models.mindformers import _configuration
from ingest.reading import FileReport, read
from kg.nouns.entities import Case
from tests.samples.readings import ingest


@pytest.mark.parametrize("link", ["a" * 5_000 + ".yaml", "a\x00b.yaml"])
def test_a_link_that_is_no_path_is_a_fault(link: str, tmp_path: Path, names: NameResolver) -> None:
    with pytest.raises(ContentError, match="is no path"):
        _configuration(f"[configuration]({link})", tmp_path, Records(names))


def test_a_link_out_of_the_folder_is_not_opened(tmp_path: Path, names: NameResolver) -> None:
    with pytest.raises(ContentError, match="outside"):
        _configuration("[configuration](../elsewhere.yaml)", tmp_path, Records(names))


def test_a_model_card_is_joined_with_its_yaml(names: NameResolver, shared: Path) -> None:
    items = list(read([shared / "formats/mindformers"], names))
    cases = [item for item in items if isinstance(item, Case)]
    card = next(item for item in items if isinstance(item, FileReport) and item.format)
    assert (card.good, card.bad) == (1, 3)
    assert [fault.place for fault in card.faults] == ["line 17", "line 18", "line 24"]
    case = cases[0]
    assert (case.measurement.value, case.measurement.unit) == (337, "tokens/s/device")
    assert case.problem.hardware.count == 64
    assert case.problem.hardware.reported == "Atlas 900 A2 PoDc"
    assert case.problem.workload.shape["num_layers"] == 80
    assert case.problem.workload.precision == "bfloat16"
    settings = case.configuration
    assert (settings["parallel_config.pipeline_stage"], settings["framework"]) == (8, "mindformers")
    assert settings["recompute_config.select_recompute"] == (10, 8, 6, 4, 2, 0, 0, 0)
    assert any("beside the card is taken for it" in guess for guess in card.guesses)


CARD = """由 A100 硬件环境下测试

| Config | Task | SeqLength | Performance | Phase |
|---|---|---|---|---|
| [m](m.yaml) | t | 128 | 5 tokens/s | Predict |
"""


@pytest.mark.parametrize(
    ("yaml", "link", "reason"),
    [
        ("a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", "m.yaml", ""),
        (
            "a0: &a0 [1,1,1,1,1,1,1,1,1]\n"
            + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)),
            "m.yaml",
            "values with its aliases written out",
        ),
        ("a: !!python/object/apply:os.system [x]\n", "m.yaml", "no YAML: could not determine a constructor"),
        ("a: &a [*a]\n", "m.yaml", "a value that holds itself"),
        ("a: [", "m.yaml", "no YAML"),
        ("", "m.yaml", "has no sections"),
        ("a: 1", "../../../../etc/hosts.yaml", "outside of the card's folder"),
        ("a: 1", "m.txt", "links no YAML"),
    ],
)
def test_yaml_that_does_harm_is_refused(
    names: NameResolver, tmp_path: Path, yaml: str, link: str, reason: str
) -> None:
    (tmp_path / "README.md").write_text(CARD.replace("m.yaml", link))
    (tmp_path / "m.yaml").write_text(yaml)
    cases, report = ingest(names, tmp_path / "README.md")
    if reason:
        assert [fault.place for fault in report.faults] == ["line 5"]
        assert reason in report.faults[0].reason
    else:
        assert len(cases) == 1
