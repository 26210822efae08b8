from __future__ import annotations

import datetime as dt
import os
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpframe
from dpframe.errors import DPFrameError, EvaluationError, ParameterError
from dpframe.privacy.accountant import Accountant

ROWS = 60


@pytest.fixture(scope="module")
def raw() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    words = rng.choice(["Ann", "bob", "", "a,c", None], ROWS)
    start = pd.Timestamp("2024-01-01")
    frame = pd.DataFrame(
        {
            "x": rng.integers(-5, 6, ROWS),
            "y": rng.normal(size=ROWS).round(2),
            "k": pd.array(
                [None if i % 7 == 0 else i % 5 for i in range(ROWS)], "Int64"
            ),
            "b": rng.random(ROWS) < 0.5,
            "s": pd.Series(words, dtype="str"),
            "c": pd.Categorical(rng.choice(["u", "v", "w"], ROWS)),
            "t": start + pd.to_timedelta(rng.integers(0, 90, ROWS), "D"),
            "w": pd.to_timedelta(rng.integers(0, 90, ROWS), "h"),
            "a b": rng.integers(0, 3, ROWS),
            "class": rng.integers(0, 3, ROWS),
            "é": rng.integers(0, 3, ROWS),
            "x-y": rng.integers(0, 3, ROWS),
            "it's": rng.integers(0, 3, ROWS),
        }
    )
    frame.loc[::9, "y"] = np.nan
    return frame


PUBLIC: dict[str, Any] = {
    "limit": 1,
    "half": 0.5,
    "whole": np.int64(3),
    "flag": True,
    "word": "Ann",
    "wanted": [1, 2],
    "names": {"Ann", "bob"},
    "levels": ("u", "v"),
    "numbers": np.array([1, 2]),
    "some": range(3),
    "when": pd.Timestamp("2024-02-01"),
    "moment": dt.datetime(2024, 2, 1),  # noqa: DTZ001 - as the column
    "long": pd.Timedelta("10h"),
}

GOOD = """
x > 1
x>1 and y<0
x > 1 & y < 0
x > 1 | y < 0
x > 1 or y > 1 and b
x > 1 | y > 1 & b
not x > 1
not (x > 1 and y < 0)
~(x > 1)
not b
b
b == True
b and x > 0
1 < x
1 < x < 4
1 < x <= y + 3
x < y < k
3 > x > -3
x in [1, 2]
x not in [1, 2]
x in (1, 2)
x == [1, 2]
x != [1, 2]
x in []
x not in []
s in ['Ann']
s == 'Ann'
s != 'Ann'
s == ""
s > 'a'
'Ann' == s
c == 'u'
c not in ['u', 'v']
`a b` > 1
`class` == 1
`x-y` == 1
`it's` == 1
é == 1
x > @limit
x in @wanted
x == @wanted
x not in @wanted
s in @names
c in @levels
x in @numbers
x in @some
s == @word
y > @half
x == @whole
b == @flag
t > @when
t > @moment
w > @long
t > '2024-02-01'
t >= "2024-02-01" and t < '2024-03-01'
t == '2024-02-01'
w > '10h'
x + 1 > 2
x * 2 - 1 > `a b`
x ** 2 > 4
x % 2 == 0
x // 2 == 1
y / x > 1
-x > 1
x > 1e0
x > 0x2
x == 1.0
x > 5 % 3
k > 2
k != 2
k not in [1]
k.notna() and k > 1
y.isnull()
y != y
s.isna()
s.str.contains('n', na=False)
s.str.len() > 2
s.str[0] == 'A'
s.str[:2] == 'An'
s.str.split(',').str[0] == 'a'
s.str.replace('A', 'x') == 'xnn'
c.str.upper() == 'U'
t.dt.month in [1, 2]
t.dt.floor('D') == @when
t.dt.month_name() == 'January'
t.dt.isocalendar().week == 5
x.between(1, 3)
x.isin(@wanted)
x.clip(0, 2) == 2
x.where(b, 0) > 1
y.fillna(0) > 0
abs(x) > 2
sqrt(abs(x)) > 1
log1p(abs(y)) > 0.5 and floor(y) < 1
s == 'say `hi`' or s == 'Ann'
""".strip().splitlines()


@pytest.mark.parametrize("text", GOOD)
def test_query_keeps_the_rows_that_pandas_keeps(text: str, raw: pd.DataFrame) -> None:
    private = dpframe.attach(raw, Accountant(epsilon=1))
    with np.errstate(all="ignore"):
        theirs = raw.query(text, engine="python", local_dict=PUBLIC)
    ours = private.query(text, local_dict=PUBLIC).detach()
    pd.testing.assert_frame_equal(ours, theirs.reset_index(drop=True))


def test_most_queries_tell_rows_apart(raw: pd.DataFrame) -> None:
    with np.errstate(all="ignore"):
        kept = [
            len(raw.query(text, engine="python", local_dict=PUBLIC)) for text in GOOD
        ]
    assert sum(0 < rows < ROWS for rows in kept) > 0.8 * len(GOOD)


def test_query_takes_public_values_by_name(raw: pd.DataFrame) -> None:
    private = dpframe.attach(raw, Accountant(epsilon=1))
    wanted = dpframe.public(pd.Series([1, 2]), reason="codes in use")
    kept = private.query("x in @wanted").detach()
    assert len(kept) == int(raw["x"].isin([1, 2]).sum())
    assert len(wanted.native) == 2


SECRETS: dict[str, Any] = {
    "frame": pd.DataFrame({"x": [1]}),
    "series": pd.Series([1]),
    "function": len,
    "os": os,
    "pd": pd,
    "nested": [[1], [2]],
    "nothing": None,
    "nan": float("nan"),
}

BAD = """
x.__class__ == 1
x._step('a', 1) == 1
x.recording.text == 'a'
().__class__.__bases__ == x
s.str.__init__ == 1
s.str._column == 1
'a'.upper() == s
(lambda: 1)() == x
lambda d: d.x > 1
[i for i in x] == 1
{i for i in [1]} == x
x in {1: 2}
x in {1, 2}
len(s) > 1
open('file') == x
eval('1') == x
__import__('os') == x
print(x)
sqrt(2) > x
sqrt(x, y) > 1
z = x + 1
x := 1
x > 1; x > 2
x > @frame
x > @series
x in @series
@frame.x > 1
@function(x) > 1
@os.getcwd() == s
@pd.Timedelta('1h') < w
x in @nested
x > @missing
x > @nothing
x > @nan
x == None
x is 1
x if b else y
x[0] > 1
x.iloc[0] > 1
s.str[x] == 'a'
s.str[0:x] == 'a'
x > x.mean()
x > x.shift()
x.pipe(@function) > 1
x.apply(@function) > 1
x.add(*[1]) > 1
x.add(**{'other': 1}) > 1
f'{x}' == 's'
x ^ 1 > 2
x << 1 > 2
b ^ b
x @ x
x > 9 ** 9 ** 9
x > 1 / 0
s > 1
t > 'yesterday-ish'
t > 3
x
1 < 2
True
x >
`a b > 1
``
@
x > 1 y
""".strip().splitlines()


@pytest.mark.parametrize("text", BAD)
def test_query_beyond_the_grammar_is_refused_before_a_row_is_read(
    text: str, raw: pd.DataFrame
) -> None:
    private = dpframe.attach(raw, Accountant(epsilon=1))
    with pytest.raises(DPFrameError) as caught:
        private.query(text, local_dict=SECRETS)
    assert not isinstance(caught.value, EvaluationError)


def test_variable_that_is_not_there_is_named_with_how_to_pass_it(
    raw: pd.DataFrame,
) -> None:
    private = dpframe.attach(raw, Accountant(epsilon=1))
    with pytest.raises(ParameterError, match="no variable limt") as missing:
        private.query("x > @limt", local_dict={"limit": 3})
    assert "@limit" in (missing.value.hint or "")
    with pytest.raises(ParameterError) as missing:
        private.query("x > @threshold", local_dict={"limit": 3})
    assert "local_dict={'threshold': value}" in (missing.value.hint or "")
