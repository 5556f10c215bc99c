"""Administration of brokers and name servers."""

from __future__ import annotations

from collections.abc import Mapping

from mqframe.client.admin.calls import AdminCalls, body_of, unless
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import FixError
from mqframe.core.requests import decode_fields
from mqframe.core.requests.admin import (
    ConfigAnswer,
    GetBrokerConfig,
    GetBrokerRuntimeInfo,
    UpdateBrokerConfig,
)
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
from mqframe.core.wire import loose_json
from mqframe.core.wire.bodies import KVTable

_MISSING = (ResponseCode.QUERY_NOT_FOUND,)


class ClusterAdmin(AdminCalls):
    """Brokers and name servers."""

    async def broker_runtime(self, address: str) -> dict[str, str]:
        """Counters and rates of the broker at `address`."""
        return (await self._ask(address, GetBrokerRuntimeInfo(), KVTable)).table

    async def broker_config(self, address: str) -> dict[str, str]:
        """Settings of the broker at `address`."""
        answer = await self._call(address, GetBrokerConfig())
        return _from_lines(bytes(answer.body).decode())

    async def broker_config_origins(self, address: str) -> dict[str, str] | None:
        """Where the settings of the broker at `address` that are no defaults come from, by key.

        `None` for one that does not tell, as Apache RocketMQ's.
        """
        answer = await self._call(address, GetBrokerConfig(origins=True))
        told = decode_fields(answer.ext, ConfigAnswer).origins
        return None if told is None else loose_json.decode(told.encode(), dict[str, str])

    async def update_broker_config(self, address: str, values: Mapping[str, str]) -> None:
        """Change settings of the running broker at `address`. Raises `FixError`, `AnswerError`."""
        try:
            body = _to_lines(values).encode()
        except UnicodeEncodeError as problem:
            raise FixError(f"settings {dict(values)!r} cannot be encoded: {problem}") from None
        await self._call(address, UpdateBrokerConfig(), body)

    async def put_kv(self, namespace: str, key: str, value: str) -> None:
        """Store a value in all name servers."""
        await self._call_nameservers(PutKvConfig(namespace, key, value))

    async def get_kv(self, namespace: str, key: str) -> str | None:
        """A value that a name server holds, or `None`."""
        answer = await unless(_MISSING, self._instance.call_nameserver(GetKvConfig(namespace, key)))
        return None if answer is None else decode_fields(answer.ext, KvAnswer).value

    async def delete_kv(self, namespace: str, key: str) -> None:
        """Remove a value from all name servers."""
        await self._call_nameservers(DeleteKvConfig(namespace, key))

    async def list_kv(self, namespace: str) -> dict[str, str]:
        """All values of a namespace; empty when there are none."""
        answer = await unless(_MISSING, self._instance.call_nameserver(GetKvlistByNamespace(namespace)))
        return {} if answer is None else body_of(answer, KVTable).table

    async def wipe_write_permission(self, broker: str) -> int:
        """Have producers leave `broker`; returns how many of its topics changed, at the last name server."""
        answers = await self._call_nameservers(WipeWritePermOfBroker(broker))
        return decode_fields(answers[-1].ext, WipeAnswer).wipe_topic_count

    async def add_write_permission(self, broker: str) -> int:
        """Let producers use `broker` again; returns the count as `wipe_write_permission`."""
        answers = await self._call_nameservers(AddWritePermOfBroker(broker))
        return decode_fields(answers[-1].ext, AddAnswer).add_topic_count


def _to_lines(values: Mapping[str, str]) -> str:
    for key, value in values.items():
        if not key or "\n" in f"{key}{value}" or "=" in key:
            raise FixError(f"setting {key!r} = {value!r}: no line breaks, and no = in the name")
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _from_lines(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}
