"""The command line: ``python -m dpframe demo [--out DIR]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dpframe.demo import demo
from dpframe.errors import DPFrameError

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 0, or 1 where it could not run."""
    parser = argparse.ArgumentParser(
        prog="python -m dpframe",
        description="Differentially private releases from dataframe code.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shown = commands.add_parser(
        "demo",
        help="release a table and some figures from a health survey, with a picture",
        description="Release figures from the RAND Health Insurance Experiment: "
        "20,190 rows of public data, in a few seconds.",
    )
    shown.add_argument(
        "--out",
        type=Path,
        default=Path("dpframe-demo"),
        metavar="DIR",
        help="folder for the table and its picture (default: %(default)s)",
    )
    chosen = parser.parse_args(arguments)
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")  # a terminal may have no ε
    try:
        for paragraph in demo(chosen.out):
            sys.stdout.write(f"{paragraph}\n\n")
            sys.stdout.flush()
    except DPFrameError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
