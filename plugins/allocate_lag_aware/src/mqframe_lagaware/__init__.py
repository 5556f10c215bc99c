"""Queues that are far behind, spread over the members that have least to do.

Members read lags at different moments, so each for itself would come to another split. They decide by one
snapshot instead: the first member (the smallest client id) takes the lags every `interval_seconds`, computes
the owners with them, and has name servers keep both. It counts `lead_seconds` later, once all members have
seen it, for all at the same time. Members that come and go in between are worked in by all in the same way,
from the snapshot alone. Without a snapshot queues are shared as `averagely` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import attrs

from mqframe.core.config.settings import at_least, setting, settings, within
from mqframe.core.errors import SettingError
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import AllocationPort, AllocationStrategy
from mqframe.hooks.specs import Factories, hookimpl
from mqframe_lagaware.snapshot import LagSnapshot, Note
from mqframe_lagaware.split import even, split
from mqframe_lagaware.topic_state import TopicState

__all__ = ["LagAware", "register_allocation_strategies"]

Owners = Mapping[MessageQueue, str]


class LagAware(AllocationStrategy):
    """Longest lag first to the least loaded member; a queue moves only where that pays."""

    wire_name = "lag_aware"

    @settings("plugins.lag_aware")
    class Options:
        """How often lags are looked at, and what is worth a move."""

        interval_seconds: float = setting(
            60.0, doc="how often the first member takes a snapshot of the lags, s", check=at_least(1)
        )
        lead_seconds: float = setting(
            30.0,
            doc="how long after it was taken a snapshot counts, s; longer than consumers take between two "
            "rebalances (20), so that all have seen it; the same for all members",
            check=at_least(0.1),
        )
        threshold: float = setting(
            0.25,
            doc="by which part a member's load has to be too high before a queue moves",
            check=within(0, 1),
        )
        queue_cost: int = setting(
            1000, doc="messages that each queue counts for besides its lag", check=within(1, 1_000_000_000)
        )

    def __init__(self, options: Options | None = None) -> None:
        """Raises `SettingError` for an interval that is not longer than the lead."""
        self.options = options or self.Options()
        if self.options.interval_seconds <= self.options.lead_seconds:
            raise SettingError(
                f"option interval_seconds of plugin lag_aware = {self.options.interval_seconds:g}: must be "
                f"more than lead_seconds ({self.options.lead_seconds:g}), or snapshots never count"
            )
        self._states: dict[tuple[str, str], TopicState] = {}
        self._previews: dict[tuple[str, str], LagSnapshot] = {}
        self._last: tuple[object, Owners] = (None, {})

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        """The queues of `client_id` by the snapshot that counts; empty for a stranger."""
        if client_id not in clients:
            return []
        owners = self._owners(self._snapshot(group, queues[0].topic), queues, clients)
        return [queue for queue in queues if owners[queue] == client_id]

    def basis(self, group: str, topic: str) -> str:
        """Which snapshot counts."""
        snapshot = self._snapshot(group, topic)
        if snapshot is None:
            return "no snapshot of lags yet: as averagely"
        taken = datetime.fromtimestamp(snapshot.taken_ms / 1000, UTC).isoformat(timespec="seconds")
        if (group, topic) in self._previews and snapshot.epoch == 0:
            return f"the lags of {taken}; a first snapshot is still to come, until then as averagely"
        return f"snapshot {snapshot.epoch} of lags, by {snapshot.publisher} at {taken}"

    async def prepare(
        self,
        port: AllocationPort,
        group: str,
        topic: str,
        queues: Sequence[MessageQueue],
        clients: Sequence[str],
    ) -> None:
        """Look for a newer snapshot; the first member takes one when it is time.

        Raises `RetryError` when name servers cannot be asked, or no broker told lags.
        """
        if port.preview:
            await self._preview(port, group, topic, queues, clients)
            return
        state = self._states.setdefault(
            (group, topic), TopicState(topic, self.options.lead_seconds, port.clock)
        )
        try:
            missing = state.see(await port.notes(_key(topic)))
            if missing is not None:
                await port.write_note(_key(topic), missing)
        finally:  # what was seen before counts when its time has come, whoever is away
            wait = state.advance()
            if wait is not None:
                port.again_in(wait)
        if wait is None and port.client_id == clients[0]:
            await self._publish(port, state, topic, queues, clients)

    async def _publish(
        self,
        port: AllocationPort,
        state: TopicState,
        topic: str,
        queues: Sequence[MessageQueue],
        clients: Sequence[str],
    ) -> None:
        first = state.note is None
        pause = self.options.lead_seconds if first else self.options.interval_seconds
        if state.unchanged_seconds() < pause:
            port.again_in(pause - state.unchanged_seconds())
            return
        before = state.in_force
        after = await self._take(port, before, topic, queues, clients)
        if before is not None and (after.lags, after.owners) == (before.lags, before.owners):
            state.nothing_new()
            return
        note = Note((after,) if before is None else (before, after))
        await port.write_note(_key(topic), note.text())
        state.keep(note)
        port.again_in(state.advance() or 0.0)

    async def _take(
        self,
        port: AllocationPort,
        before: LagSnapshot | None,
        topic: str,
        queues: Sequence[MessageQueue],
        clients: Sequence[str],
    ) -> LagSnapshot:
        """A snapshot of now. Of brokers that are away the lags before stay."""
        options = self.options
        known = {} if before is None else before.lags
        told = await port.lags(topic)
        lags = {queue: told.get(queue, known.get(queue, 0)) for queue in queues}
        now_ms = port.clock.now_ms()
        owners = self._owners(before, queues, clients)
        return LagSnapshot(
            epoch=1 if before is None else before.epoch + 1,
            publisher=port.client_id,
            taken_ms=now_ms,
            from_ms=now_ms + round(options.lead_seconds * 1000),
            queue_cost=options.queue_cost,
            threshold=options.threshold,
            lags=lags,
            owners=split(
                lags,
                owners,
                queues,
                clients,
                queue_cost=options.queue_cost,
                threshold=options.threshold,
            ),
        )

    async def _preview(
        self,
        port: AllocationPort,
        group: str,
        topic: str,
        queues: Sequence[MessageQueue],
        clients: Sequence[str],
    ) -> None:
        """The newest snapshot there is, which will count soon; else one of now, which stays here."""
        state = TopicState(topic, 0.0, port.clock)
        state.see(await port.notes(_key(topic)))
        if state.note is not None:
            self._previews[group, topic] = state.note.newest
            return
        taken = await self._take(port, None, topic, queues, clients)
        self._previews[group, topic] = attrs.evolve(taken, epoch=0)

    def _snapshot(self, group: str, topic: str) -> LagSnapshot | None:
        state = self._states.get((group, topic))
        return self._previews.get((group, topic)) if state is None else state.in_force

    def _owners(
        self, snapshot: LagSnapshot | None, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> Owners:
        if snapshot is None:
            return even(queues, clients)
        # A plan asks for each member in turn.
        asked = (snapshot.epoch, snapshot.publisher, snapshot.taken_ms, tuple(queues), tuple(clients))
        if self._last[0] != asked:
            self._last = asked, snapshot.split(queues, clients)
        return self._last[1]


def _key(topic: str) -> str:
    return f"lag_aware/{topic}"


@hookimpl
def register_allocation_strategies() -> Factories:
    """`lag_aware`, with `interval_seconds`, `lead_seconds`, `threshold` and `queue_cost`."""
    return {"lag_aware": LagAware}
