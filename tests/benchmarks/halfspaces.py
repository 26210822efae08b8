"""Halfspace oracles: errors of 1,000 answers by method, and time and memory.

An error is printed as margin error / plain error. The margin error is the largest, over
the planes, of how far the answer is above the share of rows above the plane moved down
by the margin, or below the share above the plane moved up. The plain error is the mean
distance to the share itself. Both are means over the runs, and "worst run" holds the
largest of each, of "auto". "worst of three" is the largest of sphere, clusters and
skewed, which the bars are of; many rows of the wide sphere lie on the faces of the box.

"singly" is as many Laplace answers that share the same epsilon, cut to [0, 1];
the plain error of "auto" also stands as a ratio to the mean distance of uncut ones,
planes / (rows * epsilon), of so many planes that are asked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import dpframe
from tests.benchmarks.halfspace_data import (
    SIMULATED,
    planes,
    real,
    shares,
    simulated,
)

if TYPE_CHECKING:
    from tests.benchmarks.halfspace_data import Case, Planes

    Pair = tuple[float, float]

EPSILON = 1.0
PLANES = 1000
MARGINS = (0.1, 0.2)
SETTINGS = [(columns, rows) for columns in (2, 5, 20) for rows in (10_000, 1_000_000)]
METHODS = ("kd", "sliced", "net", "jl_net")
FLAT = 2
MOST_BOXED = 5  # with more columns boxes are far behind
READ_AS = 0.002  # a published 0
# Margin and plain error of published prototypes at a margin of 0.1, worst of shapes.
BARS = {
    (2, 10_000): (0.0, 0.005),
    (5, 10_000): (0.009, 0.030),
    (5, 1_000_000): (0.0, 0.004),
    (20, 1_000_000): (0.016, 0.038),
}
BARRED = ("sphere", "clusters", "skewed")
SLACK = 1.25
# So many planes one by one: expected errors beside that of "auto" on `PLANES`.
MORE = {(5, 1_000_000): 10_000, (20, 1_000_000): 100_000}

NO_BAR = {"ratio": None, "bar": None}

Found = dict[str, list[tuple[float, float]]]
Rows = list[dict[str, object]]


def run(runs: int = 5) -> Rows:
    """Return a row per number of columns and rows, margin and data set."""
    table: Rows = []
    for columns, count in SETTINGS:
        cases = (
            simulated(name, count, columns, seed)
            for seed, name in enumerate(SIMULATED, start=1)
        )
        found = {case.name: errors(case, runs) for case in cases}
        for margin in MARGINS:
            setting = {"d": columns, "rows": count, "margin": margin}
            each = {name: by_margin[margin] for name, by_margin in found.items()}
            table += [
                {**setting, "data": name, **shown(one)} for name, one in each.items()
            ]
            barred = {name: one for name, one in each.items() if name in BARRED}
            table += summary(setting, barred)
    for case in real():
        count, columns = case.y.shape
        for margin, one in errors(case, runs).items():
            setting = {"d": columns, "rows": count, "margin": margin}
            table.append({**setting, "data": case.name, **shown(one)})
    return table


def errors(case: Case, runs: int) -> dict[float, Found]:
    """Return margin and plain errors of all runs, by margin and way of answering."""
    asked = planes(case, PLANES, seed=0)
    moves = [0.0, *MARGINS, *(-margin for margin in MARGINS)]
    truth = shares(case.x, asked, moves)
    names = [f"x{i}" for i in range(case.y.shape[1])]
    table = pl.DataFrame(dict(zip(names, case.y.T, strict=True)))
    private = table.dp.attach(dpframe.Accountant(epsilon=1_000_000))
    private = private.dp.bounds(dict.fromkeys(names, (-1, 1)))
    return {
        margin: by_way(private, asked, truth, margin, rows=len(table), runs=runs)
        for margin in MARGINS
    }


def by_way(
    private: Any,
    asked: Planes,
    truth: dict[float, np.ndarray],
    margin: float,
    *,
    rows: int,
    runs: int,
) -> Found:
    """Return margin and plain errors of all runs at a margin, by way of answering."""
    exact, inside, around = truth[0.0], truth[margin], truth[-margin]

    def pair(answers: np.ndarray) -> Pair:
        beyond = np.maximum(inside - answers, answers - around)
        return max(float(beyond.max()), 0.0), float(np.abs(answers - exact).mean())

    names = private.columns

    def release(method: str) -> Any:
        return private.dp.halfspace_oracle(
            names, margin=margin, method=method, epsilon=EPSILON
        )

    def one(method: str) -> Pair:
        answers = release(method).query_many(asked.normals, asked.offsets, scaled=True)
        return pair(answers.to_polars()["fraction"].to_numpy())

    auto = release("auto").method
    fits = {"kd": len(names) <= MOST_BOXED, "net": len(names) == FLAT}
    methods = [method for method in METHODS if fits.get(method, True)]
    found: Found = {f"auto: {auto}": [one("auto") for _ in range(runs)]}
    for method in methods:
        found[method] = [one(method) for _ in range(runs if method != auto else 0)]
    scale = len(exact) / (EPSILON * rows)
    random = np.random.default_rng()
    found["singly"] = [
        pair(np.clip(exact + random.laplace(0, scale, len(exact)), 0, 1))
        for _ in range(runs)
    ]
    return found


def shown(found: Found) -> dict[str, object]:
    """Return a row's figures: means over the runs, and the worst run of "auto"."""
    auto = next(iter(found))
    ways = {way: text(np.mean(pairs, axis=0)) for way, pairs in found.items() if pairs}
    return {
        "auto is": auto.removeprefix("auto: "),
        "auto": ways[auto],
        "worst run": text(np.max(found[auto], axis=0)),
        **{way: ways.get(way, "") for way in (*METHODS, "singly")},
        auto.removeprefix("auto: "): "as auto",
        **NO_BAR,
    }


def text(pair: np.ndarray) -> str:
    return f"{pair[0]:.4f}/{pair[1]:.4f}"


def summary(setting: dict[str, Any], found: dict[str, Found]) -> Rows:
    """Return the worst of three shapes, and how that compares with the bars."""
    ways = [way for way, pairs in next(iter(found.values())).items() if pairs]
    means = {
        way: np.max([np.mean(one[way], axis=0) for one in found.values()], axis=0)
        for way in ways
    }
    tops = {
        way: np.max([np.max(one[way], axis=0) for one in found.values()], axis=0)
        for way in ways
    }
    auto = ways[0]
    row = {
        **setting,
        "data": "worst of three",
        **shown({w: [m] for w, m in means.items()}),
    }
    table = [{**row, "worst run": text(tops[auto])}]
    rows = setting["rows"]
    size = setting["d"], rows
    blank = {**dict.fromkeys(row, ""), **setting}
    if setting["margin"] == MARGINS[0] and size in BARS:
        names = ("margin error", "plain error")
        for name, ours, bar in zip(names, means[auto], BARS[size], strict=True):
            ratio = ours / max(bar, READ_AS)
            what = f"  {name} / {bar:.3f}"
            table.append({**blank, "data": what, "ratio": ratio, "bar": SLACK})
    for count in (PLANES, *([MORE[size]] if size in MORE else [])):
        expected = count / (rows * EPSILON)
        what = f"  plain error / {expected:.3g}, {count:,} asked"
        ratio = means[auto][1] / expected
        table.append({**blank, "data": what, "ratio": ratio, "bar": None})
    return table


TIME = """
import json, sys, time
import numpy as np, polars as pl, dpframe
rows, columns, method, repeat = json.loads(sys.argv[1])
random = np.random.default_rng(1)
names = [f"x{i}" for i in range(columns)]
table = pl.DataFrame({name: random.normal(0, 0.3, rows) for name in names})
private = table.dp.attach(dpframe.Accountant(epsilon=1_000_000))
private = private.dp.bounds(dict.fromkeys(names, (-1, 1)))
def peak():
    with open("/proc/self/status") as file:
        return next(int(l.split()[1]) for l in file if l.startswith("VmHWM")) / 1024
def release():
    return private.dp.halfspace_oracle(names, margin=0.1, method=method, epsilon=1)
def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
private.dp.mean_cov(names, epsilon=1)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak is what there is now
before = peak()
oracle = release()
released = peak() - before
asked = random.normal(size=(10_000, columns)), random.normal(0, 0.1, 10_000)
fits = [seconds(lambda: oracle.query(asked[0][0]))]
fitted = peak() - before
shape = oracle.shape
directions = len(getattr(shape, "directions", ())) or None
normals = random.normal(size=(columns, directions or 1))
def product():
    for start in range(0, rows, 8192):
        matrix[start : start + 8192] @ normals
matrix = table.to_numpy()
found = {"release": [], "fit": fits, "10,000 queries": [], "product": [], "np.cov": []}
for _ in range(repeat):
    found["release"].append(seconds(release))
    if directions:
        found["product"].append(seconds(product))
    found["np.cov"].append(seconds(lambda: np.cov(table.to_numpy().T)))
    other = release()
    found["fit"].append(seconds(lambda: other.query(asked[0][0])))
    many = lambda: oracle.query_many(*asked, scaled=True)
    found["10,000 queries"].append(seconds(many))
found = {what: float(np.median(each)) for what, each in found.items() if each}
print(json.dumps({
    **found,
    "method": oracle.method,
    "directions": directions,
    "released": released,
    "fitted": fitted,
    "size": oracle.nbytes / 2**20,
}))
"""


def time(rows: int = 1_000_000, repeat: int = 5) -> Rows:
    """Return seconds of releases, fits and answers, memory, and ratios."""
    table: Rows = []
    for columns, method in ((20, "auto"), (5, "auto"), (5, "kd"), (2, "auto")):
        found = measured(rows, columns, method, repeat)
        both = {"product": "X @ U of as many directions", "np.cov": "np.cov"}
        row = {
            "rows": rows,
            "columns": columns,
            "method": found["method"],
            "directions": found["directions"],
        }
        none = {"ours": None, "plain": None, "ratio": None, "bar": None}
        for plain, name in both.items():
            if plain in found:
                ours, theirs = found["release"], found[plain]
                times = {"ours": ours, "plain": theirs, "ratio": ours / theirs}
                table.append({**row, "what": f"release / {name}", **none, **times})
        answers = {"ours": found["10,000 queries"], "plain": 1.0}
        answers |= {"ratio": answers["ours"], "bar": 1.0}
        table += [
            {**row, "what": "fit, s", **none, "ours": found["fit"]},
            {**row, "what": "10,000 queries / 1 s", **answers},
            {**row, "what": "peak memory, MB", **none, "ours": found["released"]},
            {**row, "what": "the same, fit included", **none, "ours": found["fitted"]},
            {**row, "what": "size, MB", **none, "ours": found["size"]},
        ]
    return table


def measured(rows: int, columns: int, method: str, repeat: int) -> dict[str, Any]:
    """Return medians of a process of its own."""
    job = json.dumps([rows, columns, method, repeat])
    found = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", TIME, job],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(found.stdout)
