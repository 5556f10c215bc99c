"""Administration of values that name servers hold."""

from __future__ import annotations

from mqframe.client.connection.each_answer import each_answer
from mqframe.core.codes import ResponseCode
from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.nameserver import (
    DeleteKvConfig,
    GetKvConfig,
    GetKvlistByNamespace,
    KvAnswer,
    PutKvConfig,
)
from mqframe.core.wire.bodies import KVTable
from mqframe_admin.client.calls import AdminCalls, body_of, unless

_MISSING = (ResponseCode.QUERY_NOT_FOUND,)


class AsyncKvAdmin:
    """Values that name servers hold, by namespace and key."""

    def __init__(self, calls: AdminCalls) -> None:
        self._calls = calls

    async def put(self, namespace: str, key: str, value: str) -> None:
        """Store a value in all name servers."""
        await self._calls.call_nameservers(PutKvConfig(namespace, key, value))

    async def get(self, namespace: str, key: str) -> str | None:
        """A value that a name server holds, or `None`."""
        answer = await unless(_MISSING, self._calls.instance.call_nameserver(GetKvConfig(namespace, key)))
        return None if answer is None else decode_fields(answer.ext, KvAnswer).value

    async def delete(self, namespace: str, key: str) -> None:
        """Remove a value from all name servers."""
        await self._calls.call_nameservers(DeleteKvConfig(namespace, key))

    async def list_each(self, namespace: str) -> list[dict[str, str]]:
        """All values of a namespace as each name server that answers holds them, which may differ.

        Raises `RetryError` when none answers.
        """
        asked = {each: self._list(each, namespace) for each in self._calls.instance.routes.nameservers}
        return await each_answer(asked, "values were not read", "no name server", "")

    async def list(self, namespace: str) -> dict[str, str]:
        """All values of a namespace; empty when there are none."""
        answer = await unless(_MISSING, self._calls.instance.call_nameserver(GetKvlistByNamespace(namespace)))
        return {} if answer is None else body_of(answer, KVTable).table

    async def _list(self, nameserver: str, namespace: str) -> dict[str, str]:
        request = GetKvlistByNamespace(namespace)
        answer = await unless(_MISSING, self._calls.instance.call(nameserver, request))
        return {} if answer is None else body_of(answer, KVTable).table
