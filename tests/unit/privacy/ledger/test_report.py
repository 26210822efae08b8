from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from checks.ledgers import pay

from dpframe.__main__ import main
from dpframe.errors import LedgerError
from dpframe.privacy.ledger.report import reports

if TYPE_CHECKING:
    from tests.unit.privacy.ledger.conftest import Ledger


def test_a_report_tells_all_budgets_of_either_database(ledger: Ledger) -> None:
    one, other = (ledger.budget(1, dataset=name) for name in ("one", "other"))
    pay(one, 0.3).released()
    pay(other.child("daily", epsilon=0.5), 0.2)
    first, second = [
        each for each in reports(ledger.address) if each.text[:4] == "Acco"
    ]
    assert (first.fault, second.fault) == (None, None)
    assert 'dataset "one"\n  spent 0.3 · remaining 0.7' in first.text
    assert f"anchor {one.anchor}" in first.text
    assert "child daily  spent 0.2 of 0.5" in second.text
    with pytest.raises(LedgerError, match="it holds 'one', 'other'"):
        list(reports(ledger.address, "third"))


def test_rows_of_a_whole_record_are_counted(ledger: Ledger) -> None:
    budget = ledger.budget(1)
    assert "whole: 1 row, chained" in list(reports(ledger.address))[-1].text
    pay(budget, 0.1)
    assert "whole: 2 rows, chained" in list(reports(ledger.address))[-1].text


def test_a_report_of_a_broken_record_names_the_row_and_shows_what_stands(
    ledger: Ledger,
) -> None:
    budget = ledger.budget(1)
    for _ in range(3):
        pay(budget, 0.1)
    ledger.sql("UPDATE dpframe_event SET charged = 'epsilon=0' WHERE sequence = 2")
    report = list(reports(ledger.address))[-1]
    assert "Row 2" in str(report.fault)
    assert "its first 2 of 4 rows" in report.text
    assert "spent 0.1 · remaining 0.9" in report.text


def test_a_budget_that_lost_its_own_row_is_reported_on_either_database(
    ledger: Ledger,
) -> None:
    ledger.budget(1)
    ledger.sql("DELETE FROM dpframe_budget")
    assert "has lost the row" in str(list(reports(ledger.address))[-1].fault)


def test_an_older_copy_is_noticed_by_an_anchor(ledger: Ledger) -> None:
    budget = ledger.budget(1)
    before = ledger.snapshot()
    pay(budget, 0.5)
    anchor = budget.anchor
    assert list(reports(ledger.address, anchor=anchor))[-1].fault is None
    ledger.restore(before)
    assert list(reports(ledger.address))[-1].fault is None
    fault = list(reports(ledger.address, anchor=anchor))[-1].fault
    assert "older copy" in str(fault)


def test_a_password_is_printed_nowhere(
    postgres: Ledger, capsys: pytest.CaptureFixture[str]
) -> None:
    postgres.budget(1)
    address = postgres.address.replace("dpframe@", "dpframe:hush-hush@")
    assert "hush-hush" in address
    assert main(["ledger", address]) == 0
    assert main(["ledger", address, "nobody"]) == 2
    assert main(["ledger", address.replace("/postgres?", "/nowhere?")]) == 2
    said = capsys.readouterr()
    assert "postgresql://dpframe@/postgres" in said.out
    assert "hush" not in said.out + said.err
