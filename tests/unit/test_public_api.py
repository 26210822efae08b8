from __future__ import annotations

import inspect
import subprocess
import sys
import warnings
from itertools import pairwise
from typing import Any

import pandas as pd
import polars as pl
import pytest

import dpframe
from dpframe import NotAttachedError
from dpframe.accessor.groups import GroupBy
from dpframe.accessor.namespace import PreviewNamespace, PrivateNamespace
from dpframe.attach import RawNamespace

LOSS = ("epsilon", "rho", "allow_weak")
GOAL = ("epsilon", "rho", "within", "confidence", "rows", "allow_weak")
DEFAULTS = {
    "epsilon": None,
    "rho": None,
    "within": None,
    "confidence": 0.95,
    "rows": None,
    "allow_weak": False,
}

# What api and completion show: positional parameters, keywords, and the loss or goal

FRAME: dict[str, tuple[tuple[str, ...], dict[str, Any], tuple[str, ...]]] = {
    "count": (("column",), {"column": None, "of": "rows"}, GOAL),
    "n_unique": (("columns",), {}, GOAL),
    "sum": (("column",), {"bound": "rows", "bounds": None}, GOAL),
    "mean": (("column",), {"of": "rows", "bounds": None}, GOAL),
    "var": (("column",), {"of": "rows", "bounds": None}, GOAL),
    "std": (("column",), {"of": "rows", "bounds": None}, GOAL),
    "quantile": (("column", "q"), {"q": 0.5, "bounds": None, "step": None}, GOAL),
    "median": (("column",), {"bounds": None, "step": None}, GOAL),
    "cdf": (("column",), {"bounds": None}, GOAL),
    "agg": (("statistics",), {"statistics": None}, LOSS),
    "histogram": (
        ("column",),
        {"bins": None, "keys": None, "bounds": None, "other": False, "of": "rows"},
        GOAL,
    ),
    "value_counts": (
        ("column",),
        {"keys": None, "other": False, "of": "rows"},
        GOAL,
    ),
    "contingency": (
        ("columns",),
        {"keys": None, "bins": None, "other": False, "of": "rows"},
        GOAL,
    ),
    "discover_keys": (("columns",), {}, LOSS),
    "group_by": ((), {"keys": None, "bins": None}, ()),
    "synthetic_intervals": (
        ("columns",),
        {"step": None, "domain": None, "bounds": None, "method": "auto"},
        LOSS,
    ),
    "halfspace_oracle": (
        ("columns",),
        {"label": None, "bounds": None, "method": "auto", "rows": None},
        LOSS,
    ),
    "largest_error": (("release", "queries"), {"queries": None}, LOSS),
    "mean_cov": (
        ("columns",),
        {"norm": "box", "method": "auto", "radius": None, "bounds": None},
        GOAL,
    ),
}

GROUPS: dict[str, tuple[tuple[str, ...], dict[str, Any], tuple[str, ...]]] = {
    "count": ((), {"of": "rows"}, GOAL),
    "sum": FRAME["sum"],
    "mean": FRAME["mean"],
    "var": FRAME["var"],
    "std": FRAME["std"],
    "median": FRAME["median"],
    "quantile": FRAME["quantile"],
    "agg": FRAME["agg"],
}

CLASSES = [
    dpframe.Accountant,
    dpframe.HalfspaceOracle,
    dpframe.KeysPreview,
    dpframe.KeysRelease,
    dpframe.Loss,
    dpframe.MeanCov,
    dpframe.Preview,
    dpframe.ScalarRelease,
    dpframe.SyntheticIntervals,
    dpframe.Table,
    dpframe.plan.Plan,
    dpframe.plan.SampleSize,
    dpframe.TableRelease,
    PrivateNamespace,
]


def public(owner: type) -> dict[str, Any]:
    """Return the public methods of a class, its own and those it inherits."""
    found = inspect.getmembers(owner, inspect.isfunction)
    return {name: method for name, method in found if not name.startswith("_")}


def sections(method: Any) -> set[str]:
    """Return the numpydoc sections of a docstring: titles that are underlined."""
    lines = (inspect.getdoc(method) or "").splitlines()
    return {
        title
        for title, line in pairwise(lines)
        if line and set(line) == {"-"} and len(line) == len(title)
    }


def test_the_public_names_are_sorted_and_all_there() -> None:
    names = dpframe.__all__
    assert names == sorted(names)
    assert len(set(names)) == len(names)
    for name in names:
        assert getattr(dpframe, name).__doc__


def test_nothing_else_of_the_package_shows_at_its_top() -> None:
    shown = {
        name
        for name, value in vars(dpframe).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert shown - {"annotations", "TYPE_CHECKING"} <= set(dpframe.__all__)


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        *((PrivateNamespace, name) for name in FRAME),
        *((GroupBy, name) for name in GROUPS),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_release_spells_out_its_parameters(owner: Any, name: str) -> None:
    positional, options, goal = (FRAME if owner is PrivateNamespace else GROUPS)[name]
    _, *parameters = inspect.signature(getattr(owner, name)).parameters.values()
    first = [
        p.name
        for p in parameters
        if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}
    ]
    assert tuple(first) == positional
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    expected = {**options, **{word: DEFAULTS[word] for word in goal}}
    assert list(defaults.items()) == list(expected.items())
    variable = {p.name for p in parameters if p.kind is p.VAR_KEYWORD}
    assert variable == ({"named"} if name == "agg" else set())


@pytest.mark.parametrize("name", FRAME)
def test_a_preview_takes_what_its_release_takes(name: str) -> None:
    preview = inspect.signature(getattr(PreviewNamespace, name))
    release = inspect.signature(getattr(PrivateNamespace, name))
    assert list(preview.parameters.values()) == list(release.parameters.values())


def test_every_public_release_is_in_the_tables_above() -> None:
    declared = {"bounds", "domain", "contributions", "partition", "trust", "detach"}
    assert set(public(PrivateNamespace)) == set(FRAME) | declared
    assert set(public(GroupBy)) == set(GROUPS)


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        *((PrivateNamespace, name) for name in FRAME if name != "group_by"),
        *((GroupBy, name) for name in GROUPS),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_release_says_what_it_takes_gives_costs_and_misses_by(
    owner: type, name: str
) -> None:
    method = getattr(owner, name)
    found = sections(method)
    needed = {"Parameters", "Returns", "Privacy", "Accuracy", "Raises", "Examples"}
    assert not needed - found
    text = inspect.getdoc(method) or ""
    for parameter in list(inspect.signature(method).parameters)[1:]:
        assert f"{parameter} : " in text


@pytest.mark.parametrize("owner", CLASSES, ids=lambda owner: owner.__name__)
def test_every_public_method_is_described(owner: type) -> None:
    for name, method in public(owner).items():
        described = inspect.getdoc(method)
        assert described, name
        assert described.splitlines()[0].endswith("."), name
    properties = inspect.getmembers(owner, lambda value: isinstance(value, property))
    for name, value in properties:
        assert name.startswith("_") or inspect.getdoc(value), name


# The accessor


def test_a_raw_frame_answers_by_how_to_attach_it() -> None:
    for raw in (pd.DataFrame({"x": [1]}), pl.DataFrame({"x": [1]}), pl.LazyFrame()):
        assert isinstance(raw.dp, RawNamespace)
        for name in (*FRAME, "bounds", "domain", "preview", "state"):
            with pytest.raises(NotAttachedError, match="has no budget") as caught:
                getattr(raw.dp, name)
            assert f".dp.{name}" in str(caught.value)
            assert ".dp.attach(dpframe.Accountant(epsilon=" in caught.value.hint
        with pytest.raises(AttributeError) as unknown:
            _ = raw.dp.no_such_release
        assert not isinstance(unknown.value, NotAttachedError)
        assert not hasattr(raw.dp, "mean")


def test_registering_again_changes_nothing() -> None:
    before = [vars(host)["dp"] for host in (pd.DataFrame, pl.DataFrame, pl.LazyFrame)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dpframe.register()
    after = [vars(host)["dp"] for host in (pd.DataFrame, pl.DataFrame, pl.LazyFrame)]
    assert all(one is other for one, other in zip(before, after, strict=True))


@pytest.mark.parametrize("name", ["", "a b", "1x", 3, None])
def test_an_accessor_has_an_identifier_as_its_name(name: Any) -> None:
    with pytest.raises(dpframe.ParameterTypeError, match="identifier"):
        dpframe.register(name)


def run(code: str) -> str:
    """Run code in a fresh interpreter, where nothing is registered yet."""
    done = subprocess.run(  # noqa: S603 - this interpreter, on the text below
        [sys.executable, "-W", "error::FutureWarning", "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


CONFLICT = """
import warnings
import pandas as pd
import polars as pl

class Theirs:
    def __init__(self, frame):
        self.frame = frame

{register}(Theirs)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import dpframe
    import dpframe.attach
conflicts = [w for w in caught if w.category is dpframe.AccessorConflictWarning]
assert len(conflicts) == 1, caught
assert "left alone" in str(conflicts[0].message)
frame = {host}({{"x": [1, 2]}})
assert type(frame.dp) is Theirs
budget = dpframe.Accountant(epsilon=1)
assert dpframe.attach(frame, budget).dp.preview.count(epsilon=1).cost.epsilon == 1
dpframe.register("privacy")
assert frame.privacy.attach(budget).dp.preview.count(epsilon=1).cost.epsilon == 1
others = {{pd.DataFrame, pl.DataFrame, pl.LazyFrame}} - {{{host}}}
assert not any(isinstance(other({{"x": [1]}}).dp, Theirs) for other in others)
with warnings.catch_warnings(record=True) as again:
    warnings.simplefilter("always")
    dpframe.register()
assert [w.category for w in again] == [dpframe.AccessorConflictWarning]
assert type(frame.dp) is Theirs
print("kept")
"""


@pytest.mark.parametrize(
    ("register", "host"),
    [
        ('pd.api.extensions.register_dataframe_accessor("dp")', "pd.DataFrame"),
        ('pl.api.register_dataframe_namespace("dp")', "pl.DataFrame"),
        ('pl.api.register_lazyframe_namespace("dp")', "pl.LazyFrame"),
    ],
)
def test_the_accessor_of_another_package_is_never_replaced(
    register: str, host: str
) -> None:
    assert run(CONFLICT.format(register=register, host=host)) == "kept\n"


def test_a_verb_of_the_host_is_never_replaced_by_an_accessor() -> None:
    code = """
import warnings, pandas as pd, polars as pl, dpframe
before = [pd.DataFrame.filter, pl.DataFrame.filter, pl.LazyFrame.filter]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    dpframe.register("filter")
assert [w.category for w in caught] == [dpframe.AccessorConflictWarning] * 3
assert [pd.DataFrame.filter, pl.DataFrame.filter, pl.LazyFrame.filter] == before
print("kept")
"""
    assert run(code) == "kept\n"
