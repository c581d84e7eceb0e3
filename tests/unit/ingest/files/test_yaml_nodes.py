"""Nodes of YAML with their places."""

from ingest.files.yaml_nodes import yaml_documents

TEXT = "a: &x {b: 1, c: ~}\nd: *x\ne:\n  <<: *x\n  b: 2\n---\n- yes\n- 'no'\n"


def test_nodes_stand_where_the_text_has_them_and_an_alias_is_its_anchor() -> None:
    first, second = yaml_documents(TEXT)
    keys = first.keys()
    assert keys["a"] is keys["d"]
    assert TEXT[keys["a"].start : keys["a"].end] == "&x {b: 1, c: ~}"
    assert {name: node.plain_text for name, node in keys["e"].keys().items()} == {"b": "2", "c": ""}
    assert [item.plain_text for item in second.items or ()] == ["yes", "no"]
    assert (second.line, second.parts[0].column) == (7, 2)
    assert TEXT[: keys["e"].behind].endswith("b: 2")


def test_one_document_that_is_a_template_spoils_no_other() -> None:
    text = "a: 1\n---\n{{ if }}: [\n---\nb: 2\n"
    assert [next(iter(node.keys())) for node in yaml_documents(text)] == ["a", "b"]
    assert text[yaml_documents(text)[1].start :] == "b: 2\n"
    assert yaml_documents("a: [") == []
