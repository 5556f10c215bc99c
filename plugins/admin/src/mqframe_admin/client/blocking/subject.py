"""What the client for operators in plain threads is made of: subjects, whose calls run on its loop."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Generic, ParamSpec, TypeVar

from mqframe.client.connection.sync_api import SyncClient

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")


class SyncSubject(Generic[S]):
    """What `owner`, a client for plain threads, holds of one subject: calls of `subject` run on its loop."""

    def __init__(self, owner: SyncClient[Any], subject: S) -> None:
        self._owner = owner
        self._client = subject

    def _call(self, method: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a method of the subject. Raises `ClosedError` unless the owner runs."""
        return self._owner._call(method, *args, **kwargs)
