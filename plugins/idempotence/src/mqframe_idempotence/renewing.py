"""Leases that live as long as the work: a thread that renews them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Renew = Callable[[], object]


class Renewer:
    """Calls what was added each `seconds`, in a thread of its own that exists while there is anything.

    What is called raises nothing. Any thread may call any method.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._changed = threading.Condition()
        self._renewals: dict[int, Renew] = {}
        self._thread: threading.Thread | None = None

    def add(self, owner: Any, renew: Renew) -> None:
        """Call `renew` from now on, on behalf of `owner`."""
        with self._changed:
            self._renewals[id(owner)] = renew
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="idempotence-leases", daemon=True)
                self._thread.start()
            elif len(self._renewals) == 1:
                self._changed.notify()

    def remove(self, owner: Any) -> None:
        """Do not call on behalf of `owner` any more. A call may be under way still."""
        with self._changed:
            self._renewals.pop(id(owner), None)

    @property
    def renewals(self) -> int:
        """How many there are."""
        with self._changed:
            return len(self._renewals)

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._renewals and not self._changed.wait_for(lambda: self._renewals, 60.0):
                    self._thread = None
                    return
                over = threading.Event()
            over.wait(self._seconds)
            with self._changed:
                due = list(self._renewals.values())
            for renew in due:
                renew()
