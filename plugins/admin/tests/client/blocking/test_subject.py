"""Subjects of a client for plain threads: what they are asked is done on its loop."""

from __future__ import annotations

import threading

import pytest
from mqframe_admin.client.blocking.subject import SyncSubject

from mqframe.client.connection.lifecycle import AsyncClient
from mqframe.client.connection.sync_api import SyncClient
from mqframe.core.errors import ClosedError


class Client(AsyncClient):
    async def start(self) -> None:
        pass

    async def stop(self) -> None:
        pass


class Where:
    async def ask(self, mark: str, *, end: str = "") -> str:
        return threading.current_thread().name + mark + end


class WhereSubject(SyncSubject[Where]):
    def ask(self, mark: str, *, end: str = "") -> str:
        return self._call(self._client.ask, mark, end=end)


def test_calls_run_in_the_thread_of_the_client_while_that_runs() -> None:
    owner = SyncClient(Client(), "client")
    subject = WhereSubject(owner, Where())
    with pytest.raises(ClosedError, match="is not running"):
        subject.ask("?")
    with owner:
        assert subject.ask("?", end="!") == "mqframe-client?!"
    with pytest.raises(ClosedError, match="it was stopped"):
        subject.ask("?")
