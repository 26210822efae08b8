"""A statement that something is public: what it takes, and what goes on record."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpframe


@pytest.mark.parametrize(
    "keys",
    [
        pl.Series("g", ["a", "b"]),
        pd.Series(["a", "b"]),
        pd.Index(["a", "b"]),
        np.array(["a", "b"]),
    ],
    ids=lambda keys: type(keys).__module__,
)
def test_public_columns_are_taken_as_keys(keys: object) -> None:
    frame = pl.DataFrame({"g": ["a", "c"]}).dp.attach(dpframe.Accountant(epsilon=1))
    if not isinstance(keys, np.ndarray):
        with pytest.raises(dpframe.ParameterTypeError):
            frame.dp.histogram("g", keys=keys, epsilon=0.1)
    table = frame.dp.histogram("g", keys=dpframe.public(keys), epsilon=0.1)
    assert table.to_polars()["g"].to_list() == ["a", "b"]


def test_a_statement_keeps_a_snapshot_and_its_reason() -> None:
    raw = pd.DataFrame({"k": [1, 2]})
    stated = dpframe.public(raw, reason="from the atlas")
    raw.loc[0, "k"] = 9
    assert stated.native["k"].tolist() == [1, 2]
    assert repr(stated) == "public(frame of k, reason='from the atlas')"
    assert dpframe.public(stated).reason == "from the atlas"


@pytest.mark.parametrize("value", [3, "a", [1, 2], None])
def test_only_frames_and_columns_need_to_be_stated(value: object) -> None:
    with pytest.raises(dpframe.ParameterTypeError, match="cannot be stated"):
        dpframe.public(value)


def test_a_private_frame_is_not_public() -> None:
    frame = pl.DataFrame({"g": [1]}).dp.attach(dpframe.Accountant(epsilon=1))
    with pytest.raises(dpframe.ParameterTypeError, match="PrivatePolars"):
        dpframe.public(frame)
    with pytest.raises(dpframe.ParameterTypeError, match="reason"):
        dpframe.public(pl.Series([1]), reason=3)  # type: ignore[arg-type]
