"""Progress bars of runs that take a while, on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

Done = Callable[[int], None]
"""To be told how many are done."""
SHOWN_EACH: Final = 128
"""The bar is told of every so many: what is measured must not notice."""


@contextmanager
def meter(what: str, total: int | None) -> Iterator[Done]:
    """A bar on the terminal, gone when the block ends; nothing where standard error is no terminal.

    `total`: how many there will be, `None` where nobody knows.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=5) as progress:
        task = progress.add_task(what, total=total)

        def done(count: int) -> None:
            if count % SHOWN_EACH == 0 or count == total:
                progress.update(task, completed=count)

        yield done
