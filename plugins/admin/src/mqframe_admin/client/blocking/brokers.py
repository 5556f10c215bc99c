"""BrokerAdmin: `AsyncBrokerAdmin` for plain threads.

Generated from mqframe_admin.client.brokers, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mqframe.core.requests.fields import Request
from mqframe.core.wire.frame import Frame
from mqframe_admin.bodies import BrokerStatsData, ConsumeStatsList, SettingInForce
from mqframe_admin.client.blocking.subject import SyncSubject
from mqframe_admin.client.brokers import AsyncBrokerAdmin
from mqframe_admin.rules.broker_drain import BrokerDrain


class BrokerAdmin(SyncSubject[AsyncBrokerAdmin]):
    """Single brokers. `address`: "host:port"; `broker`: a name."""

    def runtime(self, address: str) -> dict[str, str]:
        """Counters and rates of the broker at `address`."""
        return self._call(self._client.runtime, address)

    def config(self, address: str) -> dict[str, str]:
        """Settings of the broker at `address`."""
        return self._call(self._client.config, address)

    def config_origins(self, address: str) -> dict[str, str] | None:
        """Where the settings of the broker at `address` that are no defaults come from, by key.

        `None` for one that does not tell, as Apache RocketMQ's.
        """
        return self._call(self._client.config_origins, address)

    def settings(self, address: str) -> list[SettingInForce]:
        """All settings in force at the broker at `address`, by path.

        One that does not tell of them, as Apache RocketMQ's, has those of `config`, of unknown origin.
        """
        return self._call(self._client.settings, address)

    def update_config(self, address: str, values: Mapping[str, str], unset: Collection[str] = ()) -> None:
        """Change settings of the running broker at `address`, all or none. Raises `FixError`, `AnswerError`.

        `unset`: those that become again what the broker was started with; Apache RocketMQ's brokers pass over
        them.
        """
        self._call(self._client.update_config, address, values, unset)

    def wipe_write_permission(self, broker: str) -> int:
        """Have producers leave `broker`; returns how many of its topics changed, at the last name server."""
        return self._call(self._client.wipe_write_permission, broker)

    def add_write_permission(self, broker: str) -> int:
        """Let producers use `broker` again; returns the count as `wipe_write_permission`."""
        return self._call(self._client.add_write_permission, broker)

    def drain(self, broker: str) -> BrokerDrain:
        """Have all brokers of the name `broker` take no new messages; what is left in the master.

        Their permission loses "write", in what they register too, so producers go elsewhere with their next
        look at a route; delayed messages, open transactions and what is to be tried again still come. That
        lasts over restarts, until `undrain`. Raises `FixError` when no such broker is registered.
        """
        return self._call(self._client.drain, broker)

    def undrain(self, broker: str) -> BrokerDrain:
        """Have all brokers of the name `broker` take messages again. Raises as `drain`."""
        return self._call(self._client.undrain, broker)

    def drained(self, broker: str) -> BrokerDrain:
        """What is left in the master of the name `broker`. Raises as `drain`."""
        return self._call(self._client.drained, broker)

    def statistic(self, address: str, name: str, key: str) -> BrokerStatsData | None:
        """One count of the broker at `address` over a minute, an hour, a day; `None` when there is none.

        `name`: such as TOPIC_PUT_NUMS or GROUP_GET_NUMS; `key`: a topic, or "topic@group".
        """
        return self._call(self._client.statistic, address, name, key)

    def progress(self, address: str, *, ordered_only: bool = False) -> ConsumeStatsList:
        """How far all groups of the broker at `address` are, topic by topic."""
        return self._call(self._client.progress, address, ordered_only=ordered_only)

    def call(self, broker: str, request: Request, body: bytes = b"") -> Frame:
        """The answer of the master of the broker named `broker` to any request, those of plugins included.

        Raises `FixError` when no such broker is registered, `AnswerError` when it refused.
        """
        return self._call(self._client.call, broker, request, body)
