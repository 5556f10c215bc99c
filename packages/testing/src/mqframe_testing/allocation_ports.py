"""Ports for allocation strategies that look before they decide: several members without any server.

shared = SharedView(ManualClock(), lags={queue: 7})
port = shared.port("10.0.0.1@1")
await strategy.prepare(port, "billing", "orders", queues, clients)
strategy.allocate("billing", "10.0.0.1@1", queues, clients)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mqframe.core.clock import Clock
from mqframe.core.errors import RouteError
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import AllocationPort


class _OtherClock:
    """A wall clock that is `ahead_ms` ahead."""

    def __init__(self, clock: Clock, ahead_ms: int) -> None:
        self._clock = clock
        self._ahead_ms = ahead_ms

    def now_ms(self) -> int:
        return self._clock.now_ms() + self._ahead_ms

    def monotonic(self) -> float:
        return self._clock.monotonic()


class SharedView:
    """What the members of a group see of brokers and name servers.

    `lags`: messages to be consumed by queue; `notes`: what each name server keeps, by key; `away`: name
    servers (by number) and brokers (by name) that do not answer. All may be changed at any time.
    """

    def __init__(
        self, clock: Clock, lags: Mapping[MessageQueue, int] | None = None, nameservers: int = 1
    ) -> None:
        self.clock = clock
        self.lags: dict[MessageQueue, int] = dict(lags or {})
        self.notes: list[dict[str, str]] = [{} for _ in range(nameservers)]
        self.away: set[int | str] = set()

    def all_away(self, brokers: Collection[str] = ()) -> None:
        """No name server answers, nor any of `brokers`."""
        self.away |= {*range(len(self.notes)), *brokers}

    def port(self, client_id: str, *, ahead_ms: int = 0, preview: bool = False) -> ScriptedPort:
        """The port of one member, whose wall clock is `ahead_ms` ahead."""
        return ScriptedPort(self, client_id, _OtherClock(self.clock, ahead_ms), preview)


class ScriptedPort(AllocationPort):
    """One member's port. `written`: the notes that it wrote; `again`: the wishes for a round, s."""

    def __init__(self, shared: SharedView, client_id: str, clock: Clock, preview: bool) -> None:
        self._shared = shared
        self._client_id = client_id
        self._clock = clock
        self._preview = preview
        self.written: list[tuple[str, str]] = []
        self.again: list[float] = []

    @property
    def client_id(self) -> str:
        """Which member asks."""
        return self._client_id

    @property
    def clock(self) -> Clock:
        """The member's clock."""
        return self._clock

    @property
    def preview(self) -> bool:
        """Whether nothing is changed."""
        return self._preview

    async def lags(self, topic: str) -> dict[MessageQueue, int]:
        """Those of brokers that answer."""
        there = {queue: lag for queue, lag in self._shared.lags.items() if queue.topic == topic}
        found = {queue: lag for queue, lag in there.items() if queue.broker_name not in self._shared.away}
        if there and not found:
            raise RouteError(f"topic {topic}: no broker answered")
        return found

    async def notes(self, key: str) -> list[str]:
        """Those of name servers that answer."""
        return [table.get(key, "") for table in self._answering()]

    async def write_note(self, key: str, value: str) -> None:
        """To name servers that answer."""
        if self.preview:
            return
        for table in self._answering():
            table[key] = value
        self.written.append((key, value))

    def again_in(self, seconds: float) -> None:
        """Noted in `again`."""
        self.again.append(seconds)

    def _answering(self) -> list[dict[str, str]]:
        shared = self._shared
        found = [table for number, table in enumerate(shared.notes) if number not in shared.away]
        if not found:
            raise RouteError("no name server answered")
        return found
