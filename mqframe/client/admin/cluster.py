"""Administration of brokers and name servers."""

from __future__ import annotations

from collections.abc import Mapping

from mqframe.client.admin_calls import AdminCalls, body_of
from mqframe.core.bodies import KVTable
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, FixError
from mqframe.core.requests import decode_fields
from mqframe.core.requests.admin import GetBrokerConfig, GetBrokerRuntimeInfo, UpdateBrokerConfig
from mqframe.core.requests.nameserver import (
    AddAnswer,
    AddWritePermOfBroker,
    DeleteKvConfig,
    GetKvConfig,
    GetKvlistByNamespace,
    KvAnswer,
    PutKvConfig,
    WipeAnswer,
    WipeWritePermOfBroker,
)


class ClusterAdmin(AdminCalls):
    """Brokers and name servers."""

    async def broker_runtime(self, address: str) -> dict[str, str]:
        """Counters and rates of the broker at `address`."""
        return body_of(await self._instance.call(address, GetBrokerRuntimeInfo()), KVTable).table

    async def broker_config(self, address: str) -> dict[str, str]:
        """Settings of the broker at `address`."""
        answer = await self._instance.call(address, GetBrokerConfig())
        return _from_lines(bytes(answer.body).decode())

    async def update_broker_config(self, address: str, values: Mapping[str, str]) -> None:
        """Change settings of the running broker at `address`. Raises `FixError`, `AnswerError`."""
        await self._instance.call(address, UpdateBrokerConfig(), _to_lines(values).encode())

    async def put_kv(self, namespace: str, key: str, value: str) -> None:
        """Store a value in all name servers."""
        await self._tell_nameservers(PutKvConfig(namespace, key, value))

    async def get_kv(self, namespace: str, key: str) -> str | None:
        """A value that a name server holds, or `None`."""
        try:
            answer = await self._instance.call_nameserver(GetKvConfig(namespace, key))
        except AnswerError as problem:
            if problem.code != ResponseCode.QUERY_NOT_FOUND:
                raise
            return None
        return decode_fields(answer.ext, KvAnswer).value

    async def delete_kv(self, namespace: str, key: str) -> None:
        """Remove a value from all name servers."""
        await self._tell_nameservers(DeleteKvConfig(namespace, key))

    async def list_kv(self, namespace: str) -> dict[str, str]:
        """All values of a namespace; empty when there are none."""
        try:
            answer = await self._instance.call_nameserver(GetKvlistByNamespace(namespace))
        except AnswerError as problem:
            if problem.code != ResponseCode.QUERY_NOT_FOUND:
                raise
            return {}
        return body_of(answer, KVTable).table

    async def wipe_write_permission(self, broker: str) -> int:
        """Have producers leave `broker`; tells how many of its topics changed, at the last name server."""
        count = 0
        for address in self._instance.routes.nameservers:
            answer = await self._instance.call(address, WipeWritePermOfBroker(broker))
            count = decode_fields(answer.ext, WipeAnswer).wipe_topic_count
        return count

    async def add_write_permission(self, broker: str) -> int:
        """Let producers use `broker` again; tells how many of its topics changed, at the last name server."""
        count = 0
        for address in self._instance.routes.nameservers:
            answer = await self._instance.call(address, AddWritePermOfBroker(broker))
            count = decode_fields(answer.ext, AddAnswer).add_topic_count
        return count


def _to_lines(values: Mapping[str, str]) -> str:
    for key, value in values.items():
        if not key or "\n" in f"{key}{value}" or "=" in key:
            raise FixError(f"setting {key!r} = {value!r}: no line breaks, and no = in the name")
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _from_lines(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}
