"""Contexts that follow their files: certificates are replaced while programs run."""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Callable
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.errors import SettingError
from mqframe.log import get_logger
from mqframe.net.settings import NetSettings
from mqframe.trouble import Trouble

log = get_logger("net")

_FILES: Final = (
    "tls_ca_file", "tls_cert_file", "tls_key_file", "tls_server_ca_file", "tls_server_cert_file",
    "tls_server_key_file",
)  # fmt: skip
_Stamp = tuple[tuple[int, int, int] | None, ...]


class FollowingContext:
    """What `make` makes of `settings`, made again when a file was replaced.

    Files that do not fit, because the second of two is not there yet perhaps, leave the former context in
    force. Connections that are open stay as they are. Raises `SettingError` when they do not fit at first.
    """

    def __init__(
        self, make: Callable[[NetSettings], ssl.SSLContext | None], settings: NetSettings, clock: Clock
    ) -> None:
        self._make, self._settings, self._clock = make, settings, clock
        self._stamp = self._look()
        self._context = make(settings)
        self._unusable = Trouble(log, clock.monotonic, level=logging.ERROR)
        self._next = clock.monotonic() + settings.tls_reload_seconds

    @property
    def current(self) -> ssl.SSLContext | None:
        """The context for a connection that is opened now; `None` where none is secured."""
        if self._context is not None and self._clock.monotonic() >= self._next:
            self._next = self._clock.monotonic() + self._settings.tls_reload_seconds
            self._follow()
        return self._context

    def _follow(self) -> None:
        stamp = self._look()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._context = self._make(self._settings)
        except SettingError as problem:
            event = "replaced certificates cannot be used; the former stay in force"
            self._unusable.note(event, kind=str(problem), problem=str(problem))
        else:
            if not self._unusable.over("certificates were read again"):
                log.info("certificates were read again")

    def _look(self) -> _Stamp:
        return tuple(map(_stamp_of, (getattr(self._settings, name) for name in _FILES)))


def _stamp_of(file: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(file)
    except OSError:  # the context says what is wrong with it
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
