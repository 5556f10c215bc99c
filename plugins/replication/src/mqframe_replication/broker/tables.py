"""What a slave copies besides the log: topics, groups, how far groups and levels are (replication.md §3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from mqframe.broker.state import BrokerState
from mqframe.core.cluster.topic_bodies import TopicConfigTable
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.consuming.group_config import SubscriptionGroupTable
from mqframe.core.delay.schedule import DelayOffsets, DelayOffsetTable
from mqframe.core.errors import ConnectError, MqframeError, RetryError
from mqframe.core.requests.admin import (
    GetAllConsumerOffset,
    GetAllDelayOffset,
    GetAllSubscriptionGroupConfig,
    GetAllTopicConfig,
)
from mqframe.core.requests.fields import Request
from mqframe.core.wire.bodies import Body
from mqframe.core.wire.loose_json import decode
from mqframe.hooks.interfaces import CopiedTable
from mqframe.log import get_logger
from mqframe.net.client import Client
from mqframe.trouble import Troubles
from mqframe_replication.broker.asking import ask
from mqframe_replication.broker.behind_log import BehindLog
from mqframe_replication.broker.commits import OWN_COMMITS, CommitsToTell
from mqframe_replication.rules.slave_offsets import OwnCommitTable, SlaveOffsets

log = get_logger("replication")


class CopiedTables:
    """The tables of a slave that follow those of its master. A failure of one does not stop the others.

    `of_services`: those of the master's services.
    """

    def __init__(
        self, state: BrokerState, client: Client, behind: BehindLog, of_services: Iterable[CopiedTable] = ()
    ) -> None:
        self._state = state
        self._client = client
        self._behind = behind
        self._offered = self._taken = DelayOffsetTable()
        self._delays = DelayOffsets(state.clock)
        state.keeper.keep("delayOffset.json", DelayOffsetTable, self._delays)
        self._offsets = cast("SlaveOffsets", state.offsets)
        state.keeper.keep(OWN_COMMITS, OwnCommitTable, self._offsets.own, vital=False)
        self._failed: dict[str, str] = {}
        self._told = Troubles(log, state.clock.monotonic)
        self._commits = CommitsToTell(self._offsets, client)
        self._clock = state.clock
        self.copied_ms = 0
        """When all of them were copied the last time; 0: they were not."""
        self._copies: list[tuple[Request, type[Body], Callable[[Any], object]]] = [
            (GetAllTopicConfig(), TopicConfigTable, self._take_topics),
            (GetAllConsumerOffset(), ConsumerOffsetTable, self._take_offsets),
            (GetAllDelayOffset(), DelayOffsetTable, self._take_delays),
            (GetAllSubscriptionGroupConfig(), SubscriptionGroupTable, self._take_groups),
        ]
        self._absent: dict[str, tuple[int, ...]] = {}
        """What masters answer that have no such table, besides that they do not know the request."""
        for each in of_services:
            saved = each.saved
            if saved.name not in state.keeper.names:  # else the service runs here, too, and is saved
                state.keeper.keep(saved.name, saved.body, saved.table, at_once=saved.at_once)
            self._copies.append((each.request, saved.body, each.take))
            self._absent[type(each.request).__name__] = tuple(each.absent)

    async def copy(self, master: str) -> list[str]:
        """Take over all tables from the master at `master`, "host:port"; the requests that failed.

        One that the master does not know is none that failed: it has no such table.
        """
        lost = []
        for request, kind, take in self._copies:
            name = type(request).__name__
            try:
                absent = ResponseCode.REQUEST_CODE_NOT_SUPPORTED, *self._absent.get(name, ())
                answer = await ask(self._client, master, request, *absent)
                if answer.code:
                    self._well(name)
                    continue
                take(decode(bytes(answer.body), kind))
                if take == self._take_delays:
                    await self._offer_delays(master)
            except MqframeError as problem:
                self._note("a table of the master was not copied", name, problem)
                lost.append(name)
                if isinstance(problem, ConnectError):
                    break  # the others would meet the same
            else:
                self._well(name)
        if not lost:
            self.copied_ms = self._clock.now_ms()
        return lost

    @property
    def trouble(self) -> str:
        """Which tables the last copy did not bring, and why; empty when it brought all."""
        return "; ".join(f"{name}: {problem}" for name, problem in self._failed.items())

    def delays(self) -> DelayOffsetTable:
        """How far the levels are, as copied."""
        return self._delays.dump()

    async def tell(self, master: str) -> None:
        """Tell the master at `master`, whose log is this one, what clients committed here (§3)."""
        try:
            await self._commits.tell(master)
        except MqframeError as problem:
            self._note("the master was not told of commits that were made here", "commits", problem)
        else:
            self._well("commits")

    def _note(self, what: str, name: str, problem: MqframeError) -> None:
        words, may_pass = str(problem), isinstance(problem, RetryError)
        self._told.of(name).note(what, kind=words, may_pass=may_pass, request=name, problem=words)
        self._failed[name] = words

    def _well(self, name: str) -> None:
        self._told.over(name)
        self._failed.pop(name, None)

    def _take_topics(self, table: TopicConfigTable) -> None:
        if table.data_version != self._state.topics.version:
            self._state.topics.replace(table)

    def _take_groups(self, table: SubscriptionGroupTable) -> None:
        if table.data_version != self._state.groups.version:
            self._state.groups.replace(table)

    def _take_offsets(self, table: ConsumerOffsetTable) -> None:
        self._offsets.take(table)

    def _take_delays(self, table: DelayOffsetTable) -> None:
        self._offered = table

    async def _offer_delays(self, master: str) -> None:
        table = self._offered
        if table == self._taken:
            return

        def take() -> None:
            self._taken = table
            self._delays.load(table)
            self._delays.changes += 1

        await self._behind.offer("delays", master, take)
