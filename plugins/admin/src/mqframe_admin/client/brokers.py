"""Administration of brokers: settings, counters, and whether producers use them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from mqframe.core.codes import PERM_WRITE, ResponseCode
from mqframe.core.errors import FixError
from mqframe.core.requests import decode_fields
from mqframe.core.requests.admin import GetBrokerRuntimeInfo
from mqframe.core.requests.fields import Request
from mqframe.core.requests.nameserver import (
    AddAnswer,
    AddWritePermOfBroker,
    WipeAnswer,
    WipeWritePermOfBroker,
)
from mqframe.core.wire import loose_json
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.frame import Frame
from mqframe_admin.bodies import BrokerStatsData, ConsumeStatsList, SettingInForce, ToldSettings
from mqframe_admin.client.calls import AdminCalls, body_of, unless
from mqframe_admin.requests import (
    ConfigAnswer,
    GetBrokerConfig,
    GetBrokerConsumeStats,
    GetSettings,
    UpdateBrokerConfig,
    ViewBrokerStatsData,
)
from mqframe_admin.rules.broker_drain import BrokerDrain, delayed, open_halves, popped, unconsumed

_PERMISSION, _ALL = "brokerPermission", "6"
_MISSING = (ResponseCode.QUERY_NOT_FOUND,)


class AsyncBrokerAdmin:
    """Single brokers. `address`: "host:port"; `broker`: a name."""

    def __init__(self, calls: AdminCalls) -> None:
        self._calls = calls

    async def runtime(self, address: str) -> dict[str, str]:
        """Counters and rates of the broker at `address`."""
        return (await self._calls.ask(address, GetBrokerRuntimeInfo(), KVTable)).table

    async def config(self, address: str) -> dict[str, str]:
        """Settings of the broker at `address`."""
        answer = await self._calls.call(address, GetBrokerConfig())
        return _from_lines(bytes(answer.body).decode())

    async def config_origins(self, address: str) -> dict[str, str] | None:
        """Where the settings of the broker at `address` that are no defaults come from, by key.

        `None` for one that does not tell, as Apache RocketMQ's.
        """
        answer = await self._calls.call(address, GetBrokerConfig(origins=True))
        told = decode_fields(answer.ext, ConfigAnswer).origins
        return None if told is None else loose_json.decode(told.encode(), dict[str, str])

    async def settings(self, address: str) -> list[SettingInForce]:
        """All settings in force at the broker at `address`, by path.

        One that does not tell of them, as Apache RocketMQ's, has those of `config`, of unknown origin.
        """
        asked = self._calls.call(address, GetSettings())
        answer = await unless((ResponseCode.REQUEST_CODE_NOT_SUPPORTED,), asked)
        if answer is None:
            config = await self.config(address)
            found = [SettingInForce(key, key, value, live=True) for key, value in config.items()]
        else:
            found = body_of(answer, ToldSettings).settings
        return sorted(found, key=lambda each: each.path)

    async def update_config(
        self, address: str, values: Mapping[str, str], unset: Collection[str] = ()
    ) -> None:
        """Change settings of the running broker at `address`, all or none. Raises `FixError`, `AnswerError`.

        `unset`: those that become again what the broker was started with; Apache RocketMQ's brokers pass over
        them.
        """
        try:
            body = _to_lines(values).encode()
        except UnicodeEncodeError as problem:
            raise FixError(f"settings {dict(values)!r} cannot be encoded: {problem}") from None
        await self._calls.call(address, UpdateBrokerConfig(";".join(unset) or None), body)

    async def wipe_write_permission(self, broker: str) -> int:
        """Have producers leave `broker`; returns how many of its topics changed, at the last name server."""
        answers = await self._calls.call_nameservers(WipeWritePermOfBroker(broker))
        return decode_fields(answers[-1].ext, WipeAnswer).wipe_topic_count

    async def add_write_permission(self, broker: str) -> int:
        """Let producers use `broker` again; returns the count as `wipe_write_permission`."""
        answers = await self._calls.call_nameservers(AddWritePermOfBroker(broker))
        return decode_fields(answers[-1].ext, AddAnswer).add_topic_count

    async def drain(self, broker: str) -> BrokerDrain:
        """Have all brokers of the name `broker` take no new messages; what is left in the master.

        Their permission loses "write", in what they register too, so producers go elsewhere with their next
        look at a route; delayed messages, open transactions and what is to be tried again still come. That
        lasts over restarts, until `undrain`. Raises `FixError` when no such broker is registered.
        """
        await self._permit(broker, writes=False)
        return await self.drained(broker)

    async def undrain(self, broker: str) -> BrokerDrain:
        """Have all brokers of the name `broker` take messages again. Raises as `drain`."""
        await self._permit(broker, writes=True)
        return await self.drained(broker)

    async def drained(self, broker: str) -> BrokerDrain:
        """What is left in the master of the name `broker`. Raises as `drain`."""
        address = (await self._calls.masters(broker=broker))[broker]
        config, counters, progress = await asyncio.gather(
            self.config(address), self.runtime(address), self.progress(address)
        )
        return BrokerDrain(
            broker,
            address,
            not int(config.get(_PERMISSION, _ALL)) & PERM_WRITE,
            unconsumed(progress.consume_stats_list),
            delayed(counters, address),
            open_halves(counters),
            popped(counters),
        )

    async def _permit(self, broker: str, *, writes: bool) -> None:
        table = (await self._calls.cluster_info()).broker_addr_table
        if broker not in table:
            known = ", ".join(sorted(table)) or "none"
            raise FixError(f"no broker named {broker} is registered; known: {known}")
        # Slaves too: one of them may lead tomorrow.
        for _, told in sorted(table[broker].broker_addrs.items()):
            address = self._calls.for_operators(told)
            before = await self._permission(address)
            after = before | PERM_WRITE if writes else before & ~PERM_WRITE
            if writes and after != before and await self.config_origins(address) is not None:
                # What the broker was started with is no setting that was changed.
                await self.update_config(address, {}, unset=[_PERMISSION])
                before = await self._permission(address)
            if after != before:
                await self.update_config(address, {_PERMISSION: str(after)})

    async def _permission(self, address: str) -> int:
        return int((await self.config(address)).get(_PERMISSION, _ALL))

    async def statistic(self, address: str, name: str, key: str) -> BrokerStatsData | None:
        """One count of the broker at `address` over a minute, an hour, a day; `None` when there is none.

        `name`: such as TOPIC_PUT_NUMS or GROUP_GET_NUMS; `key`: a topic, or "topic@group".
        """
        asked = self._calls.call(address, ViewBrokerStatsData(name, key))
        answer = await unless((ResponseCode.SYSTEM_ERROR,), asked)
        return None if answer is None else body_of(answer, BrokerStatsData)

    async def progress(self, address: str, *, ordered_only: bool = False) -> ConsumeStatsList:
        """How far all groups of the broker at `address` are, topic by topic."""
        return await self._calls.ask(address, GetBrokerConsumeStats(ordered_only), ConsumeStatsList)

    async def call(self, broker: str, request: Request, body: bytes = b"") -> Frame:
        """The answer of the master of the broker named `broker` to any request, those of plugins included.

        Raises `FixError` when no such broker is registered, `AnswerError` when it refused.
        """
        return await self._calls.call((await self._calls.masters(broker=broker))[broker], request, body)


def _to_lines(values: Mapping[str, str]) -> str:
    for key, value in values.items():
        if not key or "\n" in f"{key}{value}" or "=" in key:
            raise FixError(f"setting {key!r} = {value!r}: no line breaks, and no = in the name")
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _from_lines(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}
