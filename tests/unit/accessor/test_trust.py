"""Trusted steps: what stays known, what goes on record, what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import dpframe
from dpframe.testing import recording

if TYPE_CHECKING:
    from tests.conftest import Host

ROWS = {"id": [1, 1, 2, None], "days": [3, 4, 5, 6], "ward": ["A", "B", "A", "A"]}
DECLARED = {
    "privacy_unit": "id",
    "max_rows": 2,
    "bounds": {"days": (0, 30)},
    "domain": {"ward": ["A", "B"]},
}


def doubled(frame: Any) -> Any:
    """Repeat the rows of a native frame."""
    if isinstance(frame, pd.DataFrame):
        return pd.concat([frame, frame])
    return frame.select("ward", "id", "days").filter(True).pipe(_twice)


def _twice(frame: Any) -> Any:
    import polars as pl  # noqa: PLC0415 - the native library of this host

    return pl.concat([frame, frame])


def exact_count(frame: Any) -> int:
    with recording(noiseless=True) as recorder:
        frame.dp.count(epsilon=1)
    return recorder.records[0].parts[0].blocks[0].exact[0][0]


def test_a_trusted_step_is_taken_and_recorded(host: Host) -> None:
    frame = host.attached(ROWS, **DECLARED)
    trusted = frame.dp.trust(doubled, reason="every row twice")
    step = "trust(doubled, reason='every row twice')"
    assert trusted.dp.state.steps == (step,)
    assert "steps: trust(doubled)" in repr(trusted)
    assert trusted.dp.state.bounds == frame.dp.state.bounds
    assert trusted.dp.state.domain == frame.dp.state.domain
    assert exact_count(trusted) == 4 * 65536  # two units, at most two rows' weight each
    release = trusted.dp.count(epsilon=1)
    assert release.provenance.trust == (step,)
    assert release.guarantee.startswith("If the trusted steps keep units apart")
    assert step in frame.dp.state.accountant.events.to_polars()["parameters"][-1]


def test_what_no_longer_suits_is_forgotten(host: Host) -> None:
    def renamed(native: Any) -> Any:
        if isinstance(native, pd.DataFrame):
            return native.rename(columns={"ward": "days", "days": "ward"})
        return native.rename({"ward": "days", "days": "ward"})

    frame = host.attached(ROWS, **DECLARED)
    state = frame.dp.trust(renamed, reason="two names changed places").dp.state
    assert dict(state.bounds) == dict(state.domain) == {}


def test_without_a_unit_rows_are_units_still(host: Host) -> None:
    frame = host.attached({"days": [1, 2]})
    assert exact_count(frame.dp.trust(lambda f: f, reason="nothing")) == 2


@pytest.mark.parametrize(
    ("step", "reason", "error"),
    [
        (lambda f: f, "", dpframe.ParameterError),
        (lambda f: f, "  ", dpframe.ParameterError),
        (lambda f: f, None, dpframe.ParameterTypeError),
        ("step", "why", dpframe.ParameterTypeError),
        (lambda _: 3, "why", dpframe.ParameterTypeError),
        (lambda f: f[["days"]], "why", dpframe.ColumnNotFoundError),
    ],
)
def test_bad_trust_is_refused(host: Host, step: Any, reason: Any, error: Any) -> None:
    frame = host.attached(ROWS, **DECLARED)
    if host.name == "polars lazy" and error is dpframe.ColumnNotFoundError:
        step = lambda f: f.select("days")  # noqa: E731 - its own spelling
    with pytest.raises(error):
        frame.dp.trust(step, reason=reason)


def test_a_unit_that_is_gone_cannot_be_found_again(host: Host) -> None:
    frame = host.attached(ROWS, **DECLARED)
    lost = frame.drop(columns="id") if host.is_pandas else frame.drop("id")
    with pytest.raises(dpframe.ParameterError, match="dropped or overwritten"):
        lost.dp.trust(lambda f: f, reason="why")


def test_errors_of_a_trusted_step_are_its_own(host: Host) -> None:
    def fail(_: Any) -> Any:
        msg = "its own words"
        raise ZeroDivisionError(msg)

    with pytest.raises(ZeroDivisionError, match="its own words"):
        host.attached(ROWS, **DECLARED).dp.trust(fail, reason="why")
