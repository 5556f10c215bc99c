"""A worker, as its supervisor sees it."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe_cli.processes.restarts import RestartVerdict, WorkerRestarts
from mqframe_cli.processes.supervisor import how_it_ended


class WorkerProgram:
    """Worker `number`, started by `words`. `watched`: whether changes of its files start it again."""

    kind = "worker"

    def __init__(self, number: int, words: Sequence[str], *, watched: bool = False) -> None:
        self.name = str(number)
        self._words = words
        self._restarts = WorkerRestarts(watched=watched)

    def command(self) -> Sequence[str]:
        """The words that start it."""
        return self._words

    def heard(self, line: str) -> None:
        """Workers have nothing to tell."""

    def ended(self, code: int, lived_seconds: float) -> RestartVerdict:
        """What becomes of it after exit code `code`."""
        return self._restarts.ended(code, lived_seconds)

    def stopped(self, code: int) -> None:
        """What it did not commit comes again, so it is all the same how it ended."""

    def how(self, code: int) -> str:
        """In words, why it ended."""
        return how_it_ended(code)
