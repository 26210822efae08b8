"""A scalar release: one statistic in one single cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpframe.outlook import Outlook
from dpframe.query import Query
from dpframe.releases.scalar import ScalarRelease

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpframe.frame import PrivateFrame
    from dpframe.mechanisms.statistic import Statistic
    from dpframe.privacy.loss import Loss
    from dpframe.query import Measured


def scalar_query(
    frame: PrivateFrame,
    loss: Loss,
    statistic: Statistic[Any],
    *,
    mechanism: str,
    name: str,
    title: str,
    columns: tuple[str, ...],
    parameters: Mapping[str, str],
) -> Query[ScalarRelease[Any]]:
    """Plan a statistic over all rows.

    Parameters
    ----------
    mechanism, columns, parameters
        What the ledger and the provenance say of the call.
    name : str
        The measure's column in the release's one-row table.
    title : str
        The release in words.
    """
    part = statistic.part((), other=False, loss=loss)

    def finish(measured: Measured) -> ScalarRelease[Any]:
        return ScalarRelease(
            figures=statistic.figures(measured.figures[0], part, name=name),
            measured=measured,
            host=frame.to_host,
            title=title,
            sampling=statistic.sampling(measured.figures[0]),
        )

    return Query(
        frame=frame,
        mechanism=mechanism,
        columns=columns,
        parameters=parameters,
        cost=loss,
        parts=(part,),
        outlook=Outlook(
            title=title,
            column=statistic.error_line,
            schema={name: statistic.measure.dtype},
            error=lambda rows: statistic.expected_error(part, rows),
        ),
        finish=finish,
    )
