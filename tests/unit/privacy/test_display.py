from __future__ import annotations

import html
import re
from fractions import Fraction
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpframe.errors import DPFrameError
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.entries import Event
from dpframe.privacy.loss import Loss
from dpframe.privacy.scope import ROOT, Partition

if TYPE_CHECKING:
    from dpframe.privacy.scope import Scope


def pay(
    budget: Accountant,
    mechanism: str = "count",
    *columns: str,
    scope: Scope = ROOT,
    **amounts: Any,
) -> None:
    loss = Loss(**{name: Fraction(str(amount)) for name, amount in amounts.items()})
    event = Event(mechanism=mechanism, columns=columns, parameters="", scope=scope)
    budget.charge(loss, event)


def lines(budget: Accountant) -> list[str]:
    return repr(budget).splitlines()


def test_a_pure_budget_prints_what_was_spent() -> None:
    budget = Accountant(epsilon=3)
    assert repr(budget) == (
        "Accountant(epsilon=3) · in memory\n"
        "  spent 0 · remaining 3   ░░░░░░░░░░░░░░░░░░░░ 0%"
    )
    pay(budget, "histogram", "decade", epsilon=0.3)
    pay(budget, "mean_cov", "age", "spending", epsilon=0.6)
    assert repr(budget) == (
        "Accountant(epsilon=3) · in memory\n"
        "  spent 0.9 · remaining 2.1   ██████░░░░░░░░░░░░░░ 30%\n"
        "  1  histogram  decade         0.3\n"
        "  2  mean_cov   age, spending  0.6"
    )


def test_a_budget_in_rho_prints_amounts_with_their_symbol() -> None:
    budget = Accountant(rho=0.2)
    pay(budget, "histogram", "decade", epsilon=0.3)
    pay(budget, "mean", "age", rho=0.045)
    assert repr(budget) == (
        "Accountant(rho=0.2) · in memory\n"
        "  spent ρ=0.09 · remaining ρ=0.11   █████████░░░░░░░░░░░ 45%\n"
        "  1  histogram  decade  ε=0.3\n"
        "  2  mean       age     ρ=0.045"
    )


def test_two_lanes_are_told_apart_and_a_delta_for_keys_beside_them() -> None:
    budget = Accountant(epsilon=1, delta=1e-6, keys_delta=2e-7)
    pay(budget, "histogram", "decade", epsilon=0.1)
    pay(budget, "discover_keys", "state", epsilon=0.05, delta="1e-7")
    assert repr(budget) == (
        "Accountant(epsilon=1, delta=1e-6, keys_delta=2e-7) · in memory\n"
        "  one of two lanes has to hold, for all releases together:\n"
        "  ε, pure noise only     spent 0.15 · remaining 0.85           "
        "███░░░░░░░░░░░░░░░░░ 15%\n"
        "  ρ, Gaussian noise too  spent 0.00625 · remaining 0.0176313   "
        "█████░░░░░░░░░░░░░░░ 27%\n"
        "  δ, for discover_keys   spent 1e-7 · remaining 1e-7           "
        "██████████░░░░░░░░░░ 50%\n"
        "  1  histogram      decade  ε=0.1\n"
        "  2  discover_keys  state   ε=0.05, δ=1e-7"
    )


def test_a_gaussian_release_ends_the_lane_of_pure_noise_in_print() -> None:
    budget = Accountant(epsilon=1, delta=1e-6)
    pay(budget, rho=0.01)
    assert lines(budget)[1:4] == [
        "  one of two lanes had to hold, and one is left:",
        "  ε, pure noise only     over, since a release had Gaussian noise",
        (
            "  ρ, Gaussian noise too  spent 0.01 · remaining 0.0143559   "
            "████████░░░░░░░░░░░░ 42%"
        ),
    ]


def test_pure_releases_that_outgrow_the_other_lane_end_it_in_print() -> None:
    budget = Accountant(epsilon=1, delta=1e-6)
    pay(budget, epsilon=0.9)
    assert lines(budget)[2:4] == [
        "  ε, pure noise only     spent 0.9 · remaining 0.1   ██████████████████░░ 90%",
        "  ρ, Gaussian noise too  over: more than it holds was spent or set aside",
    ]


def test_a_delta_beside_rho_has_a_line_of_its_own() -> None:
    budget = Accountant(rho=0.2, keys_delta=1e-7)
    pay(budget, "discover_keys", "state", epsilon=0.5, delta="1e-7")
    assert lines(budget)[:3] == [
        "Accountant(rho=0.2, keys_delta=1e-7) · in memory",
        (
            "  ρ, for all releases   spent 0.125 · remaining 0.075   "
            "█████████████░░░░░░░ 63%"
        ),
        (
            "  δ, for discover_keys  spent 1e-7 · remaining 0        "
            "████████████████████ 100%"
        ),
    ]


def test_children_are_shown_below_their_parents_with_what_they_paid() -> None:
    budget = Accountant(epsilon=3)
    daily = budget.child("daily", epsilon=1)
    trial = daily.child("trial", epsilon=0.2)
    adhoc = budget.child("adhoc", epsilon=1)
    pay(budget, "count", epsilon=0.4)
    pay(daily, "sum", "x", epsilon=0.3)
    pay(trial, "count", epsilon=0.1)
    pay(adhoc, "median", "age", epsilon=0.2)
    adhoc.close()
    assert repr(budget) == (
        "Accountant(epsilon=3) · in memory\n"
        "  spent 0.6 · set aside 1 · remaining 1.4   ████▒▒▒▒▒▒▒░░░░░░░░░ 54%\n"
        "  child daily    spent 0.3 and set aside 0.2 of 1\n"
        "    child trial  spent 0.1 of 0.2\n"
        "  child adhoc    spent 0.2 of 1                    closed\n"
        "  1  count        0.4\n"
        "  2  sum     x    0.3  in daily\n"
        "  3  count        0.1  in daily/trial\n"
        "  4  median  age  0.2  in adhoc"
    )
    assert repr(daily) == (
        'Accountant(epsilon=1) · in memory, child "daily"\n'
        "  spent 0.3 · set aside 0.2 · remaining 0.5   ██████▒▒▒▒░░░░░░░░░░ 50%\n"
        "  child trial  spent 0.1 of 0.2\n"
        "  1  sum    x  0.3\n"
        "  2  count     0.1  in trial"
    )
    assert repr(adhoc) == (
        'Accountant(epsilon=1) · in memory, child "adhoc" · closed\n'
        "  spent 0.2 of 1, the rest was given back\n"
        "  1  median  age  0.2"
    )


def test_children_under_two_lanes_hold_a_part_of_both() -> None:
    budget = Accountant(epsilon=1, delta=1e-6, keys_delta=1e-7)
    pure = budget.child("pure", epsilon=0.1, keys_delta=5e-8)
    gauss = budget.child("gauss", rho=0.005)
    pay(pure, "discover_keys", "s", epsilon=0.05, delta="1e-8")
    assert lines(budget)[5:7] == [
        "  child pure   spent ε=0.05 of 0.1, ρ=0.00125 of 0.005, δ=1e-8 of 5e-8",
        "  child gauss  spent ρ=0 of 0.005",
    ]
    assert lines(gauss)[0] == 'Accountant(rho=0.005) · in memory, child "gauss"'
    assert (
        lines(gauss)[2] == "  ε, pure noise only     nothing of it was set aside here"
    )
    pay(gauss, "sum", "x", rho=0.001)
    assert lines(budget)[5:7] == [
        "  child pure   spent ρ=0.00125 of 0.005, δ=1e-8 of 5e-8",
        "  child gauss  spent ρ=0.001 of 0.005",
    ]
    for child in (pure, gauss):
        assert "over, since a release had Gaussian noise" in lines(child)[2]


def test_a_pure_charge_beyond_a_childs_own_epsilon_ends_that_lane_everywhere() -> None:
    budget = Accountant(epsilon=1, delta=1e-6)
    pay(budget.child("gauss", rho=0.005), epsilon=0.05)
    assert "over: more than it holds was spent or set aside" in lines(budget)[2]


def test_parts_of_a_partition_print_what_they_added() -> None:
    budget = Accountant(epsilon=3)
    partition = Partition(scope=ROOT)
    ca, ny = partition.part("state=CA"), partition.part("state=NY")
    for scope, amount in ((ca, 0.2), (ny, 0.1), (ny, 0.2)):
        pay(budget, "mean", "age", scope=scope, epsilon=amount)
    assert lines(budget)[2:] == [
        "  1  mean  age  0.2  in state=CA",
        "  2  mean  age  0.1  in state=NY: adds nothing",
        "  3  mean  age  0.2  in state=NY: adds 0.1",
    ]
    lanes = Accountant(epsilon=1, delta=1e-6).child("daily", epsilon=0.2)
    for scope, amount in ((ca, 0.02), (ny, 0.01), (ny, 0.02)):
        pay(lanes, "mean", "age", scope=scope, epsilon=amount)
    assert [line.rpartition("  ")[2] for line in lines(lanes)[4:]] == [
        "in state=CA",
        "in state=NY: adds nothing",
        "in state=NY: adds ε=0.01, ρ=0.00005",
    ]


def test_a_budget_is_full_only_where_nothing_remains() -> None:
    budget = Accountant(1)
    pay(budget, epsilon=Fraction(999_999_999, 10**9))
    assert "remaining 1e-9 " in repr(budget)
    assert "█" * 19 + "░ 99%" in repr(budget)
    assert 'aria-valuenow="99"' in budget._repr_html_()
    pay(budget, epsilon=Fraction(1, 10**9))
    assert "█" * 20 + " 100%" in repr(budget)
    assert 'aria-valuenow="100"' in budget._repr_html_()


def test_a_long_record_prints_its_last_charges() -> None:
    budget = Accountant(1)
    for _ in range(30):
        pay(budget, epsilon=0.01)
    assert lines(budget)[2] == "  … 10 earlier charges"
    shown = [line.split()[0] for line in lines(budget)[3:]]
    assert shown == [str(i) for i in range(11, 31)]
    assert "10 earlier charges" in budget._repr_html_()
    assert "spent 0.3" in lines(budget)[1]


def test_many_children_print_as_the_first_of_them() -> None:
    budget = Accountant(1)
    budget.split(30)
    assert lines(budget)[2] == "  child 1             spent 0 of 0.0333334"
    assert lines(budget)[-1] == "  … 10 more children"
    assert len(lines(budget)) == 2 + 20 + 1


def test_long_names_are_cut_and_each_charge_is_one_line() -> None:
    budget = Accountant(1)
    child = budget.child("n" * 200, epsilon=0.5)
    pay(child, "contingency", *(f"column\n{i}" for i in range(100)), epsilon=0.1)
    assert len(lines(budget)) == 4
    assert all(len(line) <= 150 for line in lines(budget))
    assert "column\\n0, " in lines(budget)[3]


class Page(HTMLParser):
    """A page's text, its tags and its meters; refuses tags that do not close."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.open, self.tags = "", [""], set[str]()
        self.meters: list[dict[str, str | None]] = []
        self.feed(page)
        assert self.open == [""]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        if ("role", "meter") in attrs:
            self.meters.append(dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data}\n"


def test_html_says_what_the_text_says_and_draws_it() -> None:
    budget = Accountant(epsilon=3)
    adhoc = budget.child("adhoc", epsilon=0.6)
    pay(budget, "sum", "x", epsilon=0.9)
    pay(adhoc, "count", epsilon=0.3)
    page = Page(budget._repr_html_())
    for words in (
        "spent 0.9 · set aside 0.6 · remaining 1.5 · 50% spent or set aside",
        "child adhoc",
        "spent 0.3 of 0.6",
        "in adhoc",
    ):
        assert words in page.text
    (meter,) = page.meters
    assert meter["aria-valuenow"] == "50"
    assert meter["aria-valuetext"] == "50% spent or set aside"
    assert re.findall(r"width: (\d+)%", budget._repr_html_()) == ["30", "20"]


def test_html_is_escaped_and_sets_no_colour() -> None:
    budget = Accountant(3, dataset="<b>x")
    child = budget.child("<i>&", epsilon=1)
    pay(child, "sum", "<script>alert('x')</script>\n& more", epsilon=0.9)
    page = budget._repr_html_()
    assert "script" not in Page(page).tags | Page(child._repr_html_()).tags
    assert html.escape("<script>alert('x')</script>\\n& more") in page
    assert {"b", "i"}.isdisjoint(Page(page).tags)
    assert not re.search(r"color: (?!currentColor)|#[0-9a-f]{3}\b|rgb", page)


SMALL = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(1, 10))


@given(
    kind=st.sampled_from(["pure", "rho", "lanes"]),
    acts=st.lists(st.tuples(st.sampled_from("erdcx"), SMALL), max_size=12),
)
@settings(deadline=None, max_examples=60)
def test_whatever_happened_no_amount_is_negative_and_no_bar_too_full(
    kind: str, acts: list[tuple[str, Fraction]]
) -> None:
    keys = Fraction(1, 10**6)
    totals: dict[str, dict[str, Any]] = {
        "pure": {"epsilon": Fraction(1, 2)},
        "rho": {"rho": Fraction(1, 20), "keys_delta": keys},
        "lanes": {"epsilon": Fraction(1, 2), "delta": 2 * keys, "keys_delta": keys},
    }
    budget = Accountant(**totals[kind])
    holders = [budget]
    for number, (act, amount) in enumerate(acts):
        at = holders[-1 if number % 2 else 0]
        try:
            if act == "c":
                holders.append(at.child(str(number), epsilon=amount))
            elif act == "x":
                at.close()
            elif act == "d":
                pay(at, epsilon=amount, delta=keys / 2)
            else:
                pay(at, **{"epsilon" if act == "e" else "rho": amount})
        except DPFrameError:
            pass
    for shown in holders:
        text, page = repr(shown), Page(shown._repr_html_())
        assert not re.search(r"[ =(]-\d", text)
        for line in text.splitlines():
            if share := re.search(r"(\S+) (\d+)%$", line):
                full = line.endswith("100%")
                assert (
                    full
                    == ("░" not in share[1])
                    == bool(re.search(r"remaining (ρ=)?0 ", line))
                )
                assert int(share[2]) <= 100
        for meter in page.meters:
            assert 0 <= int(meter["aria-valuenow"] or -1) <= 100


@pytest.mark.parametrize("dataset", ["default", "visits"])
def test_a_named_budget_prints_its_name(dataset: str) -> None:
    first = lines(Accountant(1, dataset=dataset))[0]
    named = "" if dataset == "default" else ', dataset "visits"'
    assert first == f"Accountant(epsilon=1) · in memory{named}"
