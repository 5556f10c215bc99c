"""Looks whether this process may open another file: without one it accepts no connection."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable
from typing import Final

from mqframe.core.os_errors import told
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock
from mqframe.trouble import Trouble

log: Final = get_logger("cli")
LOOK_SECONDS: Final = 1.0


def open_one() -> None:
    """Open a file and close it. Raises OSError."""
    os.close(os.open(os.devnull, os.O_RDONLY))


def lacks_descriptors(problem: BaseException) -> bool:
    """Whether nothing can be opened at the moment, by this process or by any."""
    return isinstance(problem, OSError) and problem.errno in (errno.EMFILE, errno.ENFILE)


class DescriptorWatch:
    """Tells that no file can be opened any more, once a minute, and that one can again.

    Event loops do not tell it: libuv accepts and closes connections then, without a word. `probe`: opens a
    file and closes it, or raises `OSError`.
    """

    def __init__(self, clock: LoopClock, probe: Callable[[], object] = open_one) -> None:
        self._probe = probe
        self._trouble = Trouble(log, clock.monotonic, level=logging.ERROR)
        self._looks = Every(clock, LOOK_SECONDS, self.look, name="descriptors")

    def stop(self) -> None:
        """Look no more."""
        self._looks.stop()
        self._trouble.tell(last=True)

    def look(self) -> None:
        """Look now."""
        try:
            self._probe()
        except OSError as problem:
            if lacks_descriptors(problem):
                self.note(problem)
        else:
            self._trouble.over("connections are accepted again")

    def note(self, problem: OSError) -> None:
        """Something could not be opened, for there is no descriptor."""
        self._trouble.note("no connection is accepted at the moment", problem=told(problem))
