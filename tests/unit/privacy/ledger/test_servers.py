"""A server is set up as its administrator likes, and its budgets are safe there."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import psycopg
import pytest
from checks.ledgers import granted, grants_at, in_processes, pay

from dpframe.errors import LedgerBusyError, LedgerError
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.entries import Event
from dpframe.privacy.ledger import database
from dpframe.privacy.ledger import postgres as module
from dpframe.privacy.loss import Loss

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.privacy.ledger.conftest import Ledger


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_database_of_any_encoding_keeps_a_budget(server: str, encoding: str) -> None:
    name = f"in_{encoding.lower()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 "
            "LC_COLLATE 'C' LC_CTYPE 'C'"
        )
    address = server.replace("/postgres?", f"/{name}?")
    budget = Accountant(1, ledger=address, create=True)
    event = Event(mechanism="count", columns=("漢",), parameters="")
    if encoding == "LATIN1":  # which has no such letter
        with pytest.raises(LedgerError, match="nothing was spent"):
            budget.charge(Loss(epsilon=Fraction(1)), event)
    else:
        budget.charge(Loss(epsilon=Fraction(1, 2)), event)
        assert budget.events.to_dicts()[0]["columns"] == "漢"
    assert granted(budget, Fraction(1, 2))


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_isolation_of_the_server_changes_no_grant(
    postgres: Ledger, server: str, level: str
) -> None:
    postgres.budget(1)
    alter = "ALTER ROLE dpframe SET default_transaction_isolation ="
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"{alter} '{level}'")
        try:
            found = in_processes(
                "spawn", grants_at, [(postgres.address, Fraction(1, 30), 20)] * 2
            )
        finally:
            connection.execute(f"{alter} DEFAULT")
    assert sum(found) == 30
    assert postgres.afresh().spent.epsilon == 1


@pytest.mark.parametrize(
    ("act", "lock"),
    [
        (
            lambda ledger: ledger.budget(1),
            f"SELECT pg_advisory_xact_lock({module._CREATORS})",  # noqa: SLF001 - as another process
        ),
        (lambda ledger: ledger.open(), "LOCK dpframe_event IN ACCESS EXCLUSIVE MODE"),
        (
            lambda ledger: pay(ledger.open(), 1),
            "LOCK dpframe_budget IN ACCESS EXCLUSIVE MODE",
        ),
    ],
    ids=["make", "read", "charge"],
)
def test_nothing_waits_for_ever(
    postgres: Ledger,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[Ledger], object],
    lock: str,
) -> None:
    postgres.budget(1)
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    with psycopg.connect(postgres.address) as other:
        other.execute("SET statement_timeout = '20s'")
        other.execute(lock)
        with pytest.raises(LedgerBusyError):
            act(postgres)
    assert granted(postgres.open(), 1)


@pytest.mark.parametrize("scheme", ["POSTGRESQL", "Postgres", "PostgreSQL+psycopg"])
def test_scheme_of_an_address_has_no_case(postgres: Ledger, scheme: str) -> None:
    """One that was taken for a path would be shown, with its password."""
    _, rest = postgres.address.split("://")
    rest = rest.replace("dpframe@", "dpframe:canary@")
    with pytest.raises(LedgerError) as error:
        Accountant.open(f"{scheme}://{rest}")
    assert "canary" not in str(error.value)
    assert granted(Accountant(1, ledger=f"{scheme}://{rest}", create=True), 1)
    assert not granted(postgres.open(), 1)


def test_hint_for_a_user_without_rights_is_enough_to_pay(
    postgres: Ledger, server: str
) -> None:
    postgres.budget(1)
    address = postgres.address.replace("dpframe@", "guest@")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN")
        schema = postgres.address.rpartition("%3D")[2]
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO guest")
    with pytest.raises(LedgerError, match="access is denied") as error:
        Accountant.open(address)
    assert "grant SELECT, INSERT and UPDATE on dpframe_budget and" in str(error.value)
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute(
            "GRANT SELECT, INSERT, UPDATE ON dpframe_budget, dpframe_event TO guest"
        )
    assert granted(Accountant.open(address), 1)


@pytest.mark.parametrize("part", ["user", "database"])
def test_hint_for_a_wrong_address_names_what_may_be_wrong(
    postgres: Ledger, part: str
) -> None:
    postgres.budget(1)
    if part == "user":
        address = postgres.address.replace("dpframe@", "nobody@")
    else:
        address = postgres.address.replace("?", "_missing?")
    with pytest.raises(LedgerError, match="the database exists, and the user and"):
        Accountant.open(address)
