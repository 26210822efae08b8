"""What `groupby(unit)[column].transform(...)` computes, inside a pandas step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpframe.dialects.pandas.figures import Figure, figure, spread_figure
from dpframe.dialects.pandas.grouping import figure_name
from dpframe.frame import UNIT
from dpframe.proofs.pandas.kinds import plain_dtype
from dpframe.proofs.pandas.window import UnitWindow

if TYPE_CHECKING:
    import pandas as pd

    from dpframe.frame import State


def unit_window(state: State, dtype: Any) -> UnitWindow | None:
    """Return how a step reaches the rows of a unit; None where it cannot.

    `dtype` is that of the hidden column.
    """
    if state.privacy_unit is None or not state.unit_visible:
        return None
    return UnitWindow(
        unit=state.privacy_unit, hidden=UNIT, dtype=dtype, spread=_unit_spread
    )


@dataclass(frozen=True, kw_only=True)
class _UnitSpread:
    """A figure in each row; missing where another key than the unit is."""

    name: str
    figure: Figure
    some: bool

    def __call__(
        self, keys: list[pd.Series[Any]], value: pd.Series[Any] | None
    ) -> pd.Series[Any]:
        return spread_figure(keys, value, self.figure, some=self.some)


def _unit_spread(
    func: object,
    column: str | None,
    host: Any,
    some: bool,  # noqa: FBT001 - one of four places in a callable
) -> _UnitSpread:
    name = figure_name(func)
    figure(name, column, host)  # a category is refused as such
    made = figure(name, column, plain_dtype(host))
    return _UnitSpread(name=name, figure=made, some=some)
