"""Knowledge as nouns: how an assignment is written."""

import pytest

from kg.nouns.knowledge import Assignment, Strategy


@pytest.mark.parametrize(
    ("assignment", "text"),
    [
        (Assignment(parameter="jit_compile", value=False), "jit_compile=false"),
        (Assignment(parameter="jit_compile", value=None), "jit_compile"),
        (Assignment(parameter="HCCL_ALGO", value="ring", environment=True), "export HCCL_ALGO=ring"),
        (Assignment(parameter="EMPTY", value=None, environment=True), "export EMPTY="),
        (Assignment(parameter="graph", value=True, flag="--graph"), "--graph"),
        (Assignment(parameter="tp", value=8, flag="--tensor-parallel-size"), "--tensor-parallel-size 8"),
        (Assignment(parameter="o", value="O2", flag="--opt=O2"), "--opt=O2"),
    ],
)
def test_an_assignment_is_written_as_people_write_it(assignment: Assignment, text: str) -> None:
    assert assignment.text == text


@pytest.mark.parametrize(
    ("work", "sets", "needs"),
    [
        ("", (), False),
        ("code", (), True),
        ("configuration", (Assignment(parameter="graph", value=True, flag="--graph"),), False),
        ("", (Assignment(parameter="HCCL_ALGO", value="ring", environment=True),), False),
    ],
)
def test_code_is_needed_where_the_work_is_code(work: str, sets: tuple[Assignment, ...], needs: bool) -> None:
    assert Strategy(id="s", labels={"en": "s"}, kind="documented", sets=sets, work=work).needs_code is needs
