"""The stand-ins for `.str` and `.dt` of a pandas column in a step."""

# pandas' accessors are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Final, NoReturn, final

from dpframe.errors import NotProvedError, NotProvedTypeError, ParameterError
from dpframe.proofs.pandas.casts import as_whole
from dpframe.proofs.pandas.kinds import is_missing
from dpframe.proofs.pandas.recording import Recording, record_step
from dpframe.proofs.pandas.refusals import not_a_value, not_elementwise
from dpframe.proofs.pandas.rules import time_unit, unsuited, zone_of
from dpframe.proofs.pandas.text import RecordedLists, extract, join_columns
from dpframe.proofs.pandas.times import (
    convert,
    localize,
    normalize,
    round_times,
    text_of_times,
    to_unit,
)
from dpframe.proofs.pandas.vocabulary import (
    TEXT_METHODS,
    TIME_PARTS,
    WHOLE_METHODS,
)
from dpframe.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable


class RecordedAccessor:
    """The stand-in for an accessor: its members that work value by value."""

    __slots__ = ("_column", "_unwrap", "_wrap")

    _name: str = ""
    _kinds: frozenset[Kind] = frozenset()

    def __init__(
        self,
        column: Recording,
        wrap: Callable[[Recording], Any],
        unwrap: Callable[[Any], Any],
    ) -> None:
        self._column = column
        self._wrap = wrap
        self._unwrap = unwrap
        if column.kind not in self._kinds:
            raise unsuited(f"{column.text}.{self._name}", column)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise not_elementwise(name, f".{self._name}")

    def __iter__(self) -> NoReturn:
        raise not_a_value("iteration")

    def _call(self, name: str, args: Any, options: Any) -> Any:
        """Record a method that pandas has value by value."""
        text = f"{self._column.text}.{self._name}.{name}"
        for value in (*args, *options.values()):
            _check_argument(value, step=text)
        shown = [*map(repr, args), *(f"{k}={v!r}" for k, v in options.items())]

        def compute(rows: Any) -> Any:
            found = getattr(getattr(rows, self._name), name)(*args, **options)
            return as_whole(found) if name in WHOLE_METHODS else found

        step = f"{text}({', '.join(shown)})"
        return self._wrap(record_step(step, compute, self._column))


@final
class RecordedText(RecordedAccessor):
    """The stand-in for `.str`."""

    __slots__ = ()

    _name = "str"
    _kinds = frozenset({Kind.TEXT})

    def __getattr__(self, name: str) -> Any:
        if name not in TEXT_METHODS:
            return super().__getattr__(name)
        return lambda *args, **options: self._call(name, args, options)

    def __getitem__(self, key: object) -> Any:
        if isinstance(key, slice):
            return self.slice(key.start, key.stop, key.step)
        return self.get(key)

    def extract(self, pat: Any, flags: int = 0, expand: object = True) -> Any:  # noqa: FBT002 - as pandas has it
        """Take what one group of a pattern matches."""
        for value in (pat, flags):
            _check_argument(value, step="extract")
        return self._wrap(extract(self._column, pat, flags, expand=bool(expand)))

    def cat(
        self,
        others: Any = None,
        sep: str | None = None,
        na_rep: str | None = None,
        join: str = "left",
    ) -> Any:
        """Join the texts of columns of the same frame."""
        if join != "left":
            msg = "str.cat(join=...) matches rows by index labels, which are dropped."
            raise NotProvedTypeError(msg, step="cat", hint="leave join out.")
        for value in (sep, na_rep):
            _check_argument(value, step="cat")
        if others is None:
            others = []
        listed = others if isinstance(others, (list, tuple)) else [others]
        columns = [self._unwrap(other) for other in listed]
        return self._wrap(join_columns(self._column, columns, sep, na_rep))

    def split(self, pat: Any = None, **options: Any) -> RecordedLists:
        """Split each text; take parts by `.str[i]`."""
        return self._lists("split", pat, options)

    def rsplit(self, pat: Any = None, **options: Any) -> RecordedLists:
        """Split each text from its end; take parts by `.str[i]`."""
        return self._lists("rsplit", pat, options)

    def partition(self, sep: Any = " ", expand: object = True) -> RecordedLists:  # noqa: FBT002 - as pandas has it
        """Split each text at the first separator."""
        return self._lists("partition", sep, {"expand": expand})

    def rpartition(self, sep: Any = " ", expand: object = True) -> RecordedLists:  # noqa: FBT002 - as pandas has it
        """Split each text at the last separator."""
        return self._lists("rpartition", sep, {"expand": expand})

    def findall(self, pat: Any, flags: int = 0) -> RecordedLists:
        """Find all matches; take them by `.str[i]`."""
        _check_groups(pat)
        return self._lists("findall", pat, {"flags": flags})

    def join(self, sep: Any) -> Any:
        """Put a separator between the letters of each text."""
        return self._call("join", (sep,), {})

    def _lists(self, name: str, pat: Any, options: dict[str, Any]) -> RecordedLists:
        shown = "".join(f", {k}={v!r}" for k, v in options.items())
        text = f"{self._column.text}.str.{name}({pat!r}{shown})"
        for value in (pat, *options.values()):
            _check_argument(value, step=text)
        if options.get("expand"):
            msg = f"{text} with expand=True makes a frame."
            hint = "take a part by its place, with expand=False: .str[0]."
            raise NotProvedError(msg, step=name, hint=hint)

        def split(rows: Any) -> Any:
            return getattr(rows.str, name)(pat, **options)

        lists = RecordedLists(self._column, text, split, self._wrap)
        lists.len()  # what is wrong with the pattern shows here
        return lists


@final
class RecordedTimes(RecordedAccessor):
    """The stand-in for `.dt`."""

    __slots__ = ()

    _name = "dt"
    _kinds = frozenset({Kind.DATE, Kind.DATETIME, Kind.DURATION})

    def __getattr__(self, name: str) -> Any:
        if name not in TIME_PARTS:
            return super().__getattr__(name)
        text = f"{self._column.text}.dt.{name}"

        def part(rows: Any) -> Any:
            return as_whole(getattr(rows.dt, name))

        return self._wrap(record_step(text, part, self._column))

    @property
    def tz(self) -> Any:
        """The time zone."""
        return zone_of(self._column)

    @property
    def unit(self) -> str:
        """The unit that times are counted in."""
        return time_unit(self._column.dtype)

    def total_seconds(self) -> Any:
        """Return durations in seconds."""
        return self._call("total_seconds", (), {})

    def floor(
        self, freq: Any, ambiguous: Any = "raise", nonexistent: Any = "raise"
    ) -> Any:
        """Round down to a fixed span."""
        return self._rounded("floor", freq, ambiguous, nonexistent)

    def ceil(
        self, freq: Any, ambiguous: Any = "raise", nonexistent: Any = "raise"
    ) -> Any:
        """Round up to a fixed span."""
        return self._rounded("ceil", freq, ambiguous, nonexistent)

    def round(
        self, freq: Any, ambiguous: Any = "raise", nonexistent: Any = "raise"
    ) -> Any:
        """Round to the nearest of a fixed span."""
        return self._rounded("round", freq, ambiguous, nonexistent)

    def _rounded(self, how: str, freq: Any, ambiguous: Any, nonexistent: Any) -> Any:
        step = round_times(
            self._column, how, freq, ambiguous=ambiguous, nonexistent=nonexistent
        )
        return self._wrap(step)

    def normalize(self) -> Any:
        """Take the midnight before each instant."""
        return self._wrap(normalize(self._column))

    def tz_localize(
        self, tz: Any, ambiguous: Any = "raise", nonexistent: Any = "raise"
    ) -> Any:
        """Read local times as instants of a zone, or drop the zone by None."""
        return self._wrap(
            localize(self._column, tz, ambiguous=ambiguous, nonexistent=nonexistent)
        )

    def tz_convert(self, tz: Any) -> Any:
        """Show the same instants on the clocks of another zone."""
        return self._wrap(convert(self._column, tz))

    def strftime(self, date_format: Any) -> Any:
        """Write instants as text."""
        return self._wrap(text_of_times(self._column, "strftime", date_format))

    def month_name(self, locale: Any = None) -> Any:
        """Write the month."""
        return self._named("month_name", locale)

    def day_name(self, locale: Any = None) -> Any:
        """Write the day of the week."""
        return self._named("day_name", locale)

    def _named(self, method: str, locale: Any) -> Any:
        if locale is not None:
            msg = f"{method}(locale=...) depends on the machine: names are English."
            raise ParameterError(msg, hint="leave locale out.")
        return self._wrap(text_of_times(self._column, method, None))

    def as_unit(self, unit: Any, round_ok: object = True) -> Any:  # noqa: FBT002 - as pandas has it
        """Count in a coarser unit."""
        if round_ok is not True:
            msg = "as_unit(round_ok=False) fails where a time is between two ticks."
            raise NotProvedTypeError(msg, step="as_unit", hint="leave it out.")
        return self._wrap(to_unit(self._column, unit))

    def isocalendar(self) -> RecordedWeeks:
        """Take the ISO year, week and day."""
        if self._column.kind is Kind.DURATION:
            raise unsuited(f"{self._column.text}.dt.isocalendar()", self._column)
        return RecordedWeeks(self._column, self._wrap)


@final
class RecordedWeeks:
    """The stand-in for the frame of `.dt.isocalendar()`: year, week and day."""

    __slots__ = ("_column", "_wrap")

    def __init__(self, column: Recording, wrap: Callable[[Recording], Any]) -> None:
        self._column = column
        self._wrap = wrap

    def __getitem__(self, name: str) -> Any:
        if name not in _WEEKS:
            raise not_elementwise(str(name), "isocalendar()")

        def part(rows: Any) -> Any:
            return rows.dt.isocalendar()[name]

        text = f"{self._column.text}.dt.isocalendar().{name}"
        return self._wrap(record_step(text, part, self._column))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]


_WEEKS: Final = ("year", "week", "day")
_PLAIN: Final = (str, int, bool, type(None), re.Pattern)


def _check_argument(value: Any, *, step: str) -> None:
    plain = isinstance(value, _PLAIN) or is_missing(value)
    texts: list[Any] = [value]
    if isinstance(value, tuple):
        texts = list(value)
        plain = all(isinstance(part, str) for part in texts)
    if isinstance(value, dict):
        texts = [*value, *value.values()]
        plain = all(map(_is_replacement, value.keys(), value.values()))
    if not plain:
        msg = f"A {type(value).__name__} cannot be an argument of {step}."
        raise NotProvedError(msg, step=step, hint="write text or a whole number.")
    if any(isinstance(text, str) and _HALF.search(text) for text in texts):
        msg = f"{step} has half a character in its text, which some columns lack."
        raise ParameterError(msg)


_HALF: Final = re.compile("[\ud800-\udfff]")
"""Code points that stand for no character: Arrow fails on them."""


def _check_groups(pattern: Any) -> None:
    """Refuse patterns whose matches are several texts each."""
    try:
        groups = re.compile(pattern).groups
    except (re.error, TypeError):
        groups = 0  # trying it on made-up rows says what is wrong
    if groups > 1:
        msg = f".str.findall({pattern!r}) gives several texts for each match."
        raise NotProvedError(msg, step="findall", hint="write one group in it.")


def _is_replacement(old: Any, new: Any) -> bool:
    """Whether a letter or text may be replaced by this, wherever it occurs."""
    letter = isinstance(new, int) and 0 <= new <= sys.maxunicode
    letter = letter and not _HALF.match(chr(new))
    return isinstance(old, (str, int)) and (letter or isinstance(new, str | None))
