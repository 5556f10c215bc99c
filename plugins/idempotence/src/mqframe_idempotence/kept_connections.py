"""Connections that threads keep from one transaction to the next."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mqframe_idempotence.driver_errors import meaning
from mqframe_idempotence.errors import StoreAway
from mqframe_idempotence.handles import DbapiHandle


class KeptConnections:
    """One connection a thread, of `connect`, as long as nothing goes wrong with it.

    `paramstyle`, `dialect`: `None`: the driver's own.
    """

    def __init__(self, connect: Callable[[], Any], paramstyle: str | None, dialect: str | None) -> None:
        self.connect = connect
        self.paramstyle = paramstyle
        self.dialect = dialect
        self._threads = threading.local()

    def handle(self) -> DbapiHandle:
        """The connection of the calling thread, opened where it keeps none or uses it already."""
        kept = self._take()
        return KeptHandle(self, self.connect() if kept is None else kept, was_kept=kept is not None)

    def put_back(self, connection: Any) -> None:
        """Keep `connection` for the next transaction of the calling thread."""
        self._threads.value = _Kept(connection)

    def close(self) -> None:
        """Close what the calling thread keeps, if anything."""
        kept = self._take()
        if kept is not None:
            kept.close()

    def _take(self) -> Any:
        kept: _Kept | None = getattr(self._threads, "value", None)
        return None if kept is None else kept.take()


class _Kept:
    """The connection of a thread that is not used at the moment; closed when the thread ends."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def take(self) -> Any:
        """The connection, which is not kept any more; `None` where it is in use."""
        connection, self._connection = self._connection, None
        return connection

    def __del__(self) -> None:
        if self._connection is not None:
            with suppress(Exception):  # SQLite's may be closed by their threads only, and close themselves
                self._connection.close()


class KeptHandle(DbapiHandle):
    """A connection that goes back to `home` unless something went wrong with it.

    Where it `was_kept` and is gone at the first statement, as servers close those that were idle, another one
    takes its place: nothing was done in it yet.
    """

    def __init__(self, home: KeptConnections, connection: Any, was_kept: bool) -> None:
        self._home = home
        self._is_sound = True
        super().__init__(connection, self._put_back, home.paramstyle, home.dialect)
        self.is_replaceable = was_kept

    def execute(self, text: str, parameters: Any, fetch: bool) -> Any:
        """As `Handle.execute`."""
        is_replaceable, self.is_replaceable = self.is_replaceable, False
        try:
            return self._watched(lambda: super(KeptHandle, self).execute(text, parameters, fetch))
        except Exception as problem:
            if not is_replaceable or not isinstance(meaning(problem, "", self.paramstyle), StoreAway):
                raise
        with suppress(Exception):  # it is gone anyway
            self.session.close()
        self.session = self._home.connect()
        self._is_sound = True
        return self._watched(lambda: super(KeptHandle, self).execute(text, parameters, fetch))

    def commit(self) -> Any:
        """Commit."""
        return self._watched(super().commit)

    def rollback(self) -> Any:
        """Roll back."""
        return self._watched(super().rollback)

    def _watched(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except BaseException:
            self._is_sound = False
            raise

    def _put_back(self) -> None:
        if self._is_sound:
            self._home.put_back(self.session)
        else:
            self.session.close()
