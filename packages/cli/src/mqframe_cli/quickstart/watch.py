"""Progress bars while quickstart works."""

from __future__ import annotations

import threading
from typing import Any


class Bars:
    """Bars for sending, consuming and Spark, on standard error. A context manager; `quiet` shows nothing.

    `sent` and `consumed` may be called from any thread, with how many there are by now.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._progress: Any = None
        self._tasks: dict[str, Any] = {}
        self._lock = threading.Lock()
        if not quiet:
            self._progress = _progress_bars()

    def __enter__(self) -> Bars:
        if self._progress is not None:
            self._progress.start()
            for name in ("sent", "consumed"):
                self._tasks[name] = self._progress.add_task(name, total=None)
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def say(self, text: str) -> None:
        """Print one line above the bars."""
        if self._progress is not None:
            self._progress.console.print(text)

    def sent(self, count: int) -> None:
        """So many messages are stored."""
        self._update("sent", completed=count)

    def consumed(self, count: int) -> None:
        """So many different messages were consumed."""
        self._update("consumed", completed=count)

    def total(self, count: int) -> None:
        """All is sent: this is how many messages there are."""
        for name in ("sent", "consumed"):
            self._update(name, total=count)

    def spark_begins(self) -> None:
        """The Spark job starts."""
        if self._progress is not None:
            self._tasks["spark"] = self._progress.add_task("spark", total=None)

    def spark_ends(self) -> None:
        """The Spark job is done."""
        self._update("spark", total=1, completed=1)

    def _update(self, name: str, **values: Any) -> None:
        if self._progress is not None:
            with self._lock:
                self._progress.update(self._tasks[name], **values)


def _progress_bars() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description:10}"),
        BarColumn(),
        TextColumn("{task.completed:>9,.0f}"),
        TimeElapsedColumn(),
        console=Console(stderr=True, highlight=False, markup=False),
    )
