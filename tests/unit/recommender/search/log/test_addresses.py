"""URLs of databases: what may be shown of them, and which driver they name."""

import pytest

from recommender.search.log.addresses import hide_password, is_server, with_driver, without_password


@pytest.mark.parametrize(
    ("storage", "expected"),
    [
        ("postgresql://me:secret@host:5432/db", "postgresql://me:***@host:5432/db"),
        ("postgresql+psycopg://me:secret@host/db?sslmode=require", "postgresql+psycopg://me:***@host/db?sslmode=require"),
        ("postgresql://me:sec@ret/secret:secret@host/db", "postgresql://me:***@host/db"),
        ("postgresql://:secret@host/db", "postgresql://:***@host/db"),
        ("postgresql://host/db?user=me&password=secret&connect_timeout=3", "postgresql://host/db?user=me&password=***&connect_timeout=3"),
        ("postgresql://host/db?sslpassword=secret", "postgresql://host/db?sslpassword=***"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
        ("sqlite:///a/b.db", "sqlite:///a/b.db"),
        ("a:b@c.journal", "a:b@c.journal"),
    ],
)  # fmt: skip
def test_a_password_is_three_stars_and_nothing_else_is_hidden(storage: str, expected: str) -> None:
    assert hide_password(storage) == expected
    assert "secret" not in hide_password(storage)


def test_a_message_of_a_driver_is_rid_of_the_password() -> None:
    url = "postgresql://me:sec@ret@host/db?sslpassword=hidden"
    assert without_password("no sec@ret and no hidden at host", url) == "no *** and no *** at host"


def test_postgresql_is_reached_by_psycopg_where_it_is_installed() -> None:
    named = {with_driver(f"{kind}://host/db") for kind in ("postgresql", "postgres")}
    assert named in ({"postgresql+psycopg://host/db"}, {"postgresql://host/db"})
    assert with_driver("postgresql+psycopg2://host/db") == "postgresql+psycopg2://host/db"
    assert with_driver("sqlite:///a.db") == "sqlite:///a.db"


def test_what_many_machines_can_share() -> None:
    assert [is_server(item) for item in ("postgresql+psycopg://h/d", "postgres://h/d", "sqlite:///a", "a.journal")] == [
        True, True, False, False,
    ]  # fmt: skip
