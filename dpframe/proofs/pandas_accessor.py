"""The stand-in for `.str` and `.dt` of a pandas column in a step."""

# pandas' accessors are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn, final

from dpframe.errors import NotProvedError
from dpframe.proofs.pandas_recording import Recording, record_step
from dpframe.proofs.pandas_refusals import not_a_value, not_elementwise
from dpframe.proofs.pandas_rules import unsuited
from dpframe.proofs.pandas_vocabulary import TEXT_METHODS, TIME_METHODS, TIME_PARTS
from dpframe.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable


@final
class RecordedAccessor:
    """The stand-in for `.str` and `.dt`."""

    __slots__ = ("_accessor", "_column", "_wrap")

    def __init__(
        self, column: Recording, accessor: str, wrap: Callable[[Recording], Any]
    ) -> None:
        self._column = column
        self._wrap = wrap
        self._accessor = accessor
        kinds = {Kind.TEXT} if accessor == "str" else _TIMES
        if column.kind not in kinds:
            raise unsuited(f"{column.text}.{accessor}", column)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        text = f"{self._column.text}.{self._accessor}.{name}"
        accessor = self._accessor
        if accessor == "dt" and name in TIME_PARTS:
            return self._wrap(
                record_step(text, lambda rows: getattr(rows.dt, name), self._column)
            )
        if name not in (TEXT_METHODS if accessor == "str" else TIME_METHODS):
            raise not_elementwise(name, f".{accessor}")

        def call(*args: Any, **options: Any) -> Any:
            for value in (*args, *options.values()):
                _check_argument(value, step=text)
            shown = [*map(repr, args), *(f"{k}={v!r}" for k, v in options.items())]

            def compute(rows: Any) -> Any:
                return getattr(getattr(rows, accessor), name)(*args, **options)

            step = f"{text}({', '.join(shown)})"
            return self._wrap(record_step(step, compute, self._column))

        return call

    def __getitem__(self, key: object) -> Any:
        if isinstance(key, slice):
            return self.slice(key.start, key.stop, key.step)
        return self.get(key)

    def __iter__(self) -> NoReturn:
        raise not_a_value("iteration")


_TIMES: Final = frozenset({Kind.DATE, Kind.DATETIME, Kind.DURATION})


def _check_argument(value: Any, *, step: str) -> None:
    plain = isinstance(value, (str, int, bool)) or value is None
    if isinstance(value, tuple):
        plain = all(isinstance(part, str) for part in value)
    if not plain:
        msg = f"A {type(value).__name__} cannot be an argument of {step}."
        raise NotProvedError(msg, step=step, hint="write text or a whole number.")
