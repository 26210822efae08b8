"""A handle goes anywhere, and is one budget wherever it goes."""

from __future__ import annotations

import copy
import io
import os
import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import joblib
import pandas as pd
import polars as pl
import pytest
from checks.ledgers import charges, granted, grants, in_child, pay, scripts

import dpframe
from dpframe.errors import LedgerError
from dpframe.privacy.ledger import tables

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.unit.privacy.ledger.conftest import Ledger

# Later Pythons warn of threads in a process that forks; the child touches none.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def by_joblib(thing: Any) -> Any:
    file = io.BytesIO()
    joblib.dump(thing, file)
    file.seek(0)
    return joblib.load(file)


WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "joblib": by_joblib,
    **{
        f"pickle {n}": lambda thing, n=n: pickle.loads(pickle.dumps(thing, n))  # noqa: S301 - our own
        for n in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}


@pytest.mark.parametrize("way", WAYS)
def test_every_copy_is_the_same_budget(ledger: Ledger, way: str) -> None:
    budget = ledger.budget(10)
    child = budget.child("c", epsilon=1)
    again, below = WAYS[way]([budget, child])
    assert (again, below) == (budget, child)
    assert hash(again) == hash(budget)
    assert granted(again, 9)
    assert not granted(budget, 1e-9)
    assert granted(below, 1)
    assert not granted(child, 1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_twenty_copies_grant_what_one_would(ledger: Ledger, way: str) -> None:
    budget = ledger.budget(10)
    copies = [WAYS[way](budget) for _ in range(20)]
    assert sum(grants(each, 1, 2) for each in copies) == 10


def test_pickle_is_a_reference_and_no_amount(ledger: Ledger) -> None:
    budget = ledger.budget(Fraction(1237, 1000))
    before = pickle.dumps(budget)
    pay(budget, Fraction(457, 1000))
    assert pickle.dumps(budget) == before
    assert b"1237" not in before
    with pytest.raises(LedgerError):
        ledger.budget(1)
    budget = ledger.afresh()
    assert pickle.loads(before).spent.epsilon == Fraction(457, 1000)  # noqa: S301 - our own


def test_pickle_of_a_ledger_that_is_gone_or_another_is_refused(ledger: Ledger) -> None:
    budget = ledger.budget(1)
    text = pickle.dumps(budget)
    del budget
    ledger.sql("DELETE FROM dpframe_event", "DELETE FROM dpframe_budget")
    with pytest.raises(LedgerError, match="another one or none"):
        pickle.loads(text)  # noqa: S301 - our own
    ledger.budget(1)
    with pytest.raises(LedgerError, match="another one or none"):
        pickle.loads(text)  # noqa: S301 - our own


@pytest.mark.parametrize("host", ["pandas", "polars", "lazy"])
@pytest.mark.parametrize("way", ["pickle 5", "joblib", "deepcopy"])
def test_private_frames_and_releases_take_the_budget_along(
    ledger: Ledger, host: str, way: str
) -> None:
    budget = ledger.budget(1)
    data = {"x": [1.0, 2.0, 3.0], "u": [1, 1, 2]}
    native: Any = {
        "pandas": pd.DataFrame,
        "polars": pl.DataFrame,
        "lazy": pl.LazyFrame,
    }[host](data)
    frame = dpframe.attach(native, budget, privacy_unit="u", max_rows=2)
    release = frame.dp.count(epsilon=0.25)
    again, state, known = WAYS[way]([frame, frame.dp.state, release])
    assert again.dp.state.accountant == state.accountant == budget
    again.dp.count(epsilon=0.75)
    with pytest.raises(dpframe.BudgetExceededError):
        frame.dp.count(epsilon=0.01)
    assert float(known) == float(release)


def test_receipt_is_good_for_one_release_anywhere(ledger: Ledger) -> None:
    budget = ledger.budget(1)
    receipt = pay(budget, 0.25)
    again = pickle.loads(pickle.dumps(receipt))  # noqa: S301 - our own

    assert in_child(again.released) is None
    with pytest.raises(LedgerError, match="released already"):
        receipt.released()
    states = [row["state"] for row in ledger.afresh().events.to_dicts()]
    assert states == ["charged", "released"]


def test_forked_children_spend_the_budget_of_their_parent(ledger: Ledger) -> None:
    budget = ledger.budget(1)
    assert granted(budget, 0.25)
    assert [in_child(lambda: granted(budget, 0.5)) for _ in range(2)] == [True, False]
    assert budget.spent.epsilon == Fraction(3, 4)
    assert in_child(lambda: in_child(lambda: granted(budget, 0.25)))
    assert not granted(budget, 1e-9)


def test_fork_waits_for_a_charge_in_another_thread(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child never inherits half a transaction, nor a lock that nobody frees."""
    budget = ledger.budget(100)
    inside, going = threading.Event(), threading.Event()
    insert = tables.insert_entry

    def slow(session: Any, *args: Any) -> None:
        inside.set()
        going.wait(0.3)  # longer than a fork takes
        insert(session, *args)

    monkeypatch.setattr(tables, "insert_entry", slow)
    with ThreadPoolExecutor(1) as pool:
        charge = pool.submit(pay, budget, 1)
        inside.wait()
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            with suppress(BaseException):
                monkeypatch.undo()
                os.write(writer, str(budget.spent.epsilon).encode())
                pay(budget, 2)
                os._exit(0)
            os._exit(1)
        going.set()
        _, status = os.waitpid(child, 0)
        charge.result()
    assert os.read(reader, 10) == b"1"
    assert status == 0
    assert budget.spent.epsilon == 3


def test_threads_charge_while_children_are_forked(ledger: Ledger) -> None:
    budget = ledger.budget(100)

    def forked(_: int) -> int:
        return in_child(lambda: grants(budget, 1, 3))

    with ThreadPoolExecutor(3) as pool:
        here = [pool.submit(grants, budget, 1, 20) for _ in range(2)]
        there = list(pool.map(forked, range(6)))
        assert sum(there) == 18
        assert sum(each.result() for each in here) == 40
    assert ledger.afresh().spent.epsilon == 58


@pytest.mark.parametrize("when", ["insert_entry", "update_budget"])
def test_fork_in_the_middle_of_a_charge_charges_once(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """As a signal handler may do; the child is refused, and harms nothing."""
    budget = ledger.budget(100)
    step = getattr(tables, when)
    children: list[int] = []
    ends: list[int] = []

    def forking(session: Any, *args: Any) -> None:
        step(session, *args)
        children.append(os.fork())
        if children[0]:  # the child goes first, while this charge is not done
            ends.append(os.waitpid(children[0], 0)[1])

    monkeypatch.setattr(tables, when, forking)
    said = "granted"
    try:
        pay(budget, 1)
    except LedgerError as error:
        said = str(error)
    monkeypatch.undo()
    if children == [0]:
        os._exit("forked in the middle" not in said)
    assert (said, ends) == ("granted", [0])
    assert budget.spent.epsilon == 1
    assert len(charges(ledger.afresh())) == 1


@pytest.mark.parametrize(
    "operation",
    [
        lambda df: df.copy(),
        copy.deepcopy,
        lambda df: df.head(1),
        lambda df: df["x"].to_frame(),
        lambda df: pd.concat([df, df]),
        lambda df: df.groupby("g").sum(),
        lambda df: pickle.loads(pickle.dumps(df)),  # noqa: S301 - our own
        by_joblib,
    ],
)
def test_budget_in_attrs_is_spent_once(
    ledger: Ledger, operation: Callable[[pd.DataFrame], pd.DataFrame]
) -> None:
    budget = ledger.budget(1)
    df = pd.DataFrame({"x": [3.0, 1.0], "g": ["a", "b"]})
    df.attrs["budget"] = budget
    carried = operation(df).attrs["budget"]
    assert carried == budget
    assert granted(carried, 0.6)
    assert not granted(df.attrs["budget"], 0.6)


def test_frame_with_a_budget_in_attrs_is_written_by_polars_alone(
    sqlite: Ledger, tmp_path: Path
) -> None:
    """As with every attribute that is no plain text; the budget stays as it was."""
    df = pd.DataFrame({"x": [3.0, 1.0]})
    df.attrs["budget"] = sqlite.budget(1)
    path = tmp_path / "frame.parquet"
    with pytest.warns(UserWarning, match="attrs"), pytest.raises(TypeError):
        df.to_parquet(path)
    pl.from_pandas(df).clone().write_parquet(path)
    assert pd.read_parquet(path)["x"].to_list() == [3.0, 1.0]
    assert granted(df.attrs["budget"], 1)
    assert not granted(sqlite.open(), 1e-9)


def test_nothing_but_sqlite_opens_the_file(sqlite: Ledger) -> None:
    """Whoever else opens and closes it drops the locks of the whole process."""
    ((found, control, shown),) = scripts(["checks.opens", sqlite.address])
    assert found == []
    assert control
    assert shown == 3
