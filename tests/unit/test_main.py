"""The command line on ledgers; the demo has its test under tests/docs."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import dpframe
from dpframe.__main__ import main
from dpframe.privacy.entries import Event
from dpframe.privacy.loss import Loss
from dpframe.privacy.scope import ROOT, Partition

if TYPE_CHECKING:
    from pathlib import Path

    from dpframe.privacy.scope import Scope


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def opened(**options: Any) -> dpframe.Accountant:
    amounts = options.keys() & {"epsilon", "rho"}
    return dpframe.Accountant(
        **({} if amounts else {"epsilon": 3}),
        **options,
        ledger="budget.db",
        create=True,
    )


def pay(
    budget: dpframe.Accountant,
    mechanism: str = "count",
    *columns: str,
    how: str = "",
    steps: tuple[str, ...] = (),
    scope: Scope = ROOT,
    release: bool = True,
    **amounts: str,
) -> None:
    loss = Loss(**{name: Fraction(amount) for name, amount in amounts.items()})
    event = Event(
        mechanism=mechanism, columns=columns, parameters=how, steps=steps, scope=scope
    )
    receipt = budget.charge(loss, event)
    if release:
        receipt.released()


def visits() -> dpframe.Accountant:
    budget = opened(dataset="visits")
    daily, adhoc = budget.child("daily", epsilon=1), budget.child("adhoc", epsilon=1)
    step = "trust(<lambda>, reason='by hand')"
    pay(budget, "histogram", "decade", how="keys=0, 10", steps=(step,), epsilon="0.3")
    pay(daily, "count", epsilon="0.1", release=False)
    pay(adhoc, "sum", "x", epsilon="0.2")
    adhoc.close()
    part = Partition(scope=ROOT)
    pay(budget, "mean", "x", scope=part.part("state=CA"), epsilon="0.1")
    pay(budget, "mean", "x", scope=part.part("state=NY"), epsilon="0.1")
    return budget


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main(["ledger", *arguments])
    said = capsys.readouterr()
    assert all(len(line) <= 100 for line in said.out.splitlines())
    assert "Traceback" not in said.out + said.err
    return status, said.out, said.err


def change(statement: str, *values: Any) -> None:
    with closing(sqlite3.connect("budget.db")) as connection:
        assert connection.execute(statement, values).rowcount > 0
        connection.commit()


@pytest.mark.usefixtures("folder")
def test_a_budget_is_printed_with_its_children_and_events(
    capsys: pytest.CaptureFixture[str],
) -> None:
    budget = visits()
    status, out, err = run(capsys, "budget.db")
    assert (status, err) == (0, "")
    lines = out[out.index("Accountant(") :].splitlines()  # below a note of a tmpfs
    assert lines[:5] == [
        'Accountant(epsilon=3) · budget.db, dataset "visits"',
        "  spent 0.6 · set aside 1 · remaining 1.4   ████▒▒▒▒▒▒▒░░░░░░░░░ 54%",
        "  child daily  spent 0.1 of 1",
        "  child adhoc  spent 0.2 of 1  closed",
        "",
    ]
    day = f"{budget.events.to_polars()['time'][0]:%Y-%m-%d}"
    cells = [line.split() for line in lines[5:]]
    times = [cell.pop(2) for cell in cells if day in cell]
    assert all(len(time) == 8 for time in times)
    assert cells == [
        ["row", "time", "(UTC)", "event", "cost", "state"],
        ["0", day, "opened", "3"],
        ["1", day, "daily", "opened", "1"],
        ["2", day, "adhoc", "opened", "1"],
        ["3", day, "histogram", "0.3", "released"],
        ["columns:", "decade"],
        ["how:", "keys=0,", "10;", "trust(<lambda>,", "reason='by", "hand')"],
        ["not", "proved:", "trust(<lambda>,", "reason='by", "hand')"],
        ["5", day, "count", "0.1", "not", "released"],
        ["charged:", "in", "daily"],
        ["6", day, "sum", "0.2", "released"],
        ["columns:", "x"],
        ["charged:", "in", "adhoc"],
        ["8", day, "adhoc", "closed"],
        ["9", day, "mean", "0.1", "released"],
        ["columns:", "x"],
        ["charged:", "in", "state=CA"],
        ["11", day, "mean", "0.1", "released"],
        ["columns:", "x"],
        ["charged:", "in", "state=NY:", "adds", "nothing"],
        [],
        [
            "The",
            "record",
            "is",
            "whole:",
            "13",
            "rows,",
            "chained",
            "by",
            "their",
            "hashes.",
        ],
        ["anchor", budget.anchor],
        [],
    ]


@pytest.mark.usefixtures("folder")
def test_a_child_is_printed_alone_by_its_own_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    visits()
    status, out, _ = run(capsys, "budget.db", "visits/daily")
    assert status == 0
    assert 'Accountant(epsilon=1) · budget.db, dataset "visits/daily"' in out
    assert "spent 0.1 · remaining 0.9" in out
    assert "histogram" not in out
    assert "13 rows" in out


@pytest.mark.usefixtures("folder")
def test_all_budgets_of_a_ledger_are_printed_in_order_of_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    visits()
    lanes = opened(dataset="survey", epsilon=1, delta=1e-6, keys_delta=1e-7)
    pay(lanes, "discover_keys", "state", epsilon="0.1", delta="1e-8")
    pay(lanes, "mean", "x", rho="0.001")
    status, out, _ = run(capsys, "budget.db")
    assert status == 0
    assert 0 < out.index('dataset "survey"') < out.index('dataset "visits"')
    assert out.count("The record is whole") == 2
    assert "ε, pure noise only     over, since a release had Gaussian noise" in out
    assert "ε=0.1, δ=1e-8" in out
    assert "ρ=0.001" in out
    assert 'dataset "survey"' not in run(capsys, "budget.db", "visits")[1]


@pytest.mark.usefixtures("folder")
def test_a_real_release_is_printed_with_its_steps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    frame = pl.DataFrame({"age": [3, 70], "female": [0, 1]}).dp.attach(opened())
    steps = frame.filter(pl.col("female") == 1).dp.trust(
        lambda native: native, reason="looked at; and signed"
    )
    steps.dp.count(epsilon=0.5)
    _, out, _ = run(capsys, "budget.db")
    text = " ".join(out.split())
    assert 'filter([(col("female")) == (1)])' in text
    assert "not proved: trust(" in text


@pytest.mark.usefixtures("folder")
def test_long_and_unprintable_text_stays_within_the_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    budget = opened(dataset="d" * 200)
    child = budget.child("c" * 200, epsilon=1)
    pay(child, "m" * 90, *(f"a\x1b[31m{i}" for i in range(90)), epsilon="0.1")
    pay(budget, "count", how="k" * 5000, epsilon="0.1")
    status, out, _ = run(capsys, "budget.db")
    assert status == 0
    assert "\x1b" not in out
    assert "\\x1b[31m89" in out
    assert out.count("k") >= 5000


@pytest.mark.usefixtures("folder")
def test_a_bar_that_is_too_far_right_goes_below_with_its_share(
    capsys: pytest.CaptureFixture[str],
) -> None:
    budget = opened(epsilon=1, delta=1e-6, keys_delta=5e-7)
    pay(budget, "mean", "x", rho="0.00325")
    budget.split(1)
    _, out, _ = run(capsys, "budget.db")
    bars = [line for line in out.splitlines() if "%" in line]
    assert bars == ["    ███▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ 100%", "    ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ 100%"]


@pytest.mark.usefixtures("folder")
def test_an_edited_row_is_named_and_what_stands_before_it_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    visits()
    edit = 'UPDATE dpframe_event SET "cost" = ? WHERE "sequence" = 6'
    change(edit, "epsilon=1/100")
    status, out, err = run(capsys, "budget.db")
    assert status == 1
    assert err.startswith("LedgerCorruptError: Row ")
    assert "histogram" in out
    assert "The record is broken. What its first " in out
    assert "of 13 rows say is above" in out
    assert "whole" not in out
    assert "anchor" not in out
    assert run(capsys, "budget.db", "visits/daily")[0] == 1


BROKEN: dict[str, str] = {
    "first row": 'UPDATE dpframe_event SET "time" = \'\' WHERE "sequence" = 0',
    "last row": 'DELETE FROM dpframe_event WHERE "sequence" = 12',
    "middle row": 'DELETE FROM dpframe_event WHERE "sequence" = 5',
    "all rows": "DELETE FROM dpframe_event",
    "what is put down": 'UPDATE dpframe_budget SET "spent" = 0',
    "row of the budget": "DELETE FROM dpframe_budget",
    "type of a cell": 'UPDATE dpframe_event SET "cost" = x\'00\' WHERE "sequence" = 3',
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_record_is_an_exit_status_of_1(
    what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    visits()
    assert run(capsys, "budget.db")[0] == 0
    change(BROKEN[what])
    status, out, err = run(capsys, "budget.db")
    assert status == 1
    assert err.startswith("LedgerCorruptError: ")
    assert "whole" not in out


@pytest.mark.usefixtures("folder")
def test_a_broken_budget_does_not_hide_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    visits()
    opened(dataset="survey")
    change('DELETE FROM dpframe_budget WHERE "dataset" = ?', "survey")
    status, out, err = run(capsys, "budget.db")
    assert status == 1
    assert "'survey'" in err
    assert 'dataset "visits"' in out
    assert run(capsys, "budget.db", "visits")[0] == 0


def test_a_child_that_was_opened_after_the_break_is_not_shown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del folder
    visits()
    change('UPDATE dpframe_event SET "time" = ? WHERE "sequence" = 0', "yesterday")
    status, out, err = run(capsys, "budget.db", "visits/daily")
    assert (status, out) == (1, "") or "note: " in out
    assert "LedgerCorruptError" in err


def test_a_file_that_is_no_database_is_damaged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "budget.db").write_text("no database" * 1000)
    status, out, err = run(capsys, "budget.db")
    assert (status, out) == (1, "")
    assert err.startswith("LedgerCorruptError: budget.db ")


@pytest.mark.usefixtures("folder")
def test_an_anchor_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    budget = visits()
    before = budget.anchor
    pay(budget, epsilon="0.1")
    assert run(capsys, "budget.db", "--anchor", before)[0] == 0
    assert run(capsys, "budget.db", "--anchor", budget.anchor)[0] == 0
    later = f"99:{before.partition(':')[2]}"
    other = f"{before.partition(':')[0]}:{'0' * 64}"
    for wrong in (later, other):
        status, out, err = run(capsys, "budget.db", "visits", "--anchor", wrong)
        assert status == 1
        assert "does not hold row" in err
        assert "whole" not in out
    status, _, err = run(capsys, "budget.db", "--anchor", "nonsense")
    assert status == 2
    assert err.startswith("ParameterError: anchor must be ")


@pytest.mark.usefixtures("folder")
def test_an_anchor_among_several_budgets_needs_a_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    anchor = visits().anchor
    opened(dataset="survey")
    status, _, err = run(capsys, "budget.db", "--anchor", anchor)
    assert status == 2
    assert "name the budget too" in err
    assert run(capsys, "budget.db", "visits", "--anchor", anchor)[0] == 0


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.db"], "there is no ledger nowhere.db"),
        (["budget.db", "nobody"], "there is no budget 'nobody' in budget.db"),
        (["budget.db", "visits/nobody"], "no budget named 'visits/nobody'"),
        (["budget.db", "daily"], "named after its budget, as in 'visits/name'"),
        (["mysql://user:secret@host/db"], "not in mysql"),
        (["sqlite:///budget.db"], 'write ledger="budget.db" or'),
        (["postgresql://user:secret@localhost:1/db"], "the connection failed"),
        (["postgresql://user:secret@localhost:x/db"], "cannot be read"),
        ([""], "must name a file"),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, list) else "",
)
def test_what_is_not_there_is_an_exit_status_of_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments[0].startswith("postgresql"):
        pytest.importorskip("psycopg")
        pytest.importorskip("sqlalchemy")
    visits()
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert "Accountant(" not in out
    assert said in err
    assert "secret" not in err


def test_a_look_changes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    visits()
    before = (folder / "budget.db").read_bytes()
    run(capsys, "budget.db")
    assert (folder / "budget.db").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["budget.db"]


def test_the_command_runs_without_a_terminal_and_its_letters(folder: Path) -> None:
    visits()
    done = subprocess.run(
        [sys.executable, "-m", "dpframe", "ledger", "budget.db"],
        capture_output=True,
        check=False,
        cwd=folder,
        encoding="ascii",
        env={"PATH": "", "PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "The record is whole: 13 rows" in done.stdout
