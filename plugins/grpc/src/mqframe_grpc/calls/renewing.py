"""Messages in work at push consumers are hidden again and again, until done, or their member is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from mqframe.core.clock import Clock
from mqframe.core.errors import MqframeError
from mqframe.log import get_logger
from mqframe_grpc.backend import Backend
from mqframe_grpc.calls.deliveries import Deliveries
from mqframe_grpc.clients import DoorClient
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.handles import DoorHandle
from mqframe_grpc.rules.renewal import GIVEN_BACK_MS, InWork, Renewals
from mqframe_grpc.rules.settings import retry_delay_ms

log = get_logger("grpc")

_AT_ONCE: Final = 64


class Renewing:
    """Does what `Renewals` say. `own`: the door itself, for what nobody asks for any more."""

    def __init__(
        self, renewals: Renewals, deliveries: Deliveries, backend: Backend, clock: Clock, own: DoorClient
    ) -> None:
        self.renewals = renewals
        self.deliveries = deliveries
        self._backend = backend
        self._clock = clock
        self.own = own
        self._changes: dict[InWork, asyncio.Future[None]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def now_ms(self) -> int:
        """The time that renewals count by, ms."""
        return round(self._clock.monotonic() * 1000)

    async def renew(self) -> None:
        """Hide anew what is due."""
        due = self.renewals.due(self.now_ms(), _AT_ONCE)
        while due.renew or due.let_go:
            await asyncio.gather(*map(self._renew, due.renew), *map(self._let_go, due.let_go))
            due = self.renewals.due(self.now_ms(), _AT_ONCE)

    async def _renew(self, work: InWork) -> None:
        change = self._changes[work] = asyncio.get_running_loop().create_future()
        renewals = self.renewals
        try:
            handle = await self.deliveries.hide(
                self.own, work.group, work.topic, work.handle, renewals.renew_ms
            )
        except Rejected as problem:
            renewals.failed(work, self.now_ms(), ours=problem.code != m.Code.INVALID_RECEIPT_HANDLE)
        except MqframeError as problem:
            log.info("message is not hidden anew yet", message=work.message_id, reason=str(problem))
        else:
            renewals.renewed(work, handle, self.now_ms())
        finally:
            if work.renewing:
                renewals.failed(work, self.now_ms())
            del self._changes[work]
            change.set_result(None)

    async def _let_go(self, work: InWork) -> None:
        try:
            config = await self._backend.group(work.group)
        except MqframeError:
            config = None  # it waits as in a group of which nothing was said
        await self._last(work, retry_delay_ms(config, work.reconsume_times))

    async def _last(self, work: InWork, duration_ms: int) -> None:
        await self._changed(work)
        await self.let_others(work.group, work.topic, work.handle, duration_ms)

    async def _changed(self, work: InWork) -> None:
        """Return once the handle of `work` is the newest one."""
        if (change := self._changes.get(work)) is not None:
            await asyncio.shield(change)

    async def let_others(self, group: str, topic: str, handle: DoorHandle, duration_ms: int) -> None:
        """Have the group get a message again after so long; if that fails, after its invisible time."""
        try:
            await self.deliveries.hide(self.own, group, topic, handle, duration_ms)
        except MqframeError as problem:
            log.debug("message comes back by itself", topic=topic, handle=handle.text, reason=str(problem))

    async def take(
        self, client: DoorClient, group: str, topic: str, message_id: str, given: DoorHandle
    ) -> InWork | None:
        """End the renewal of the message that `client` means; `None` where it is not renewed."""
        work = self.renewals.take(client.name, group, topic, message_id, given)
        if work in self._changes:
            await self._changed(work)
        return work

    async def use_newest(
        self,
        client: DoorClient,
        group: str,
        topic: str,
        message_id: str,
        given: DoorHandle,
        use: Callable[[DoorHandle], Awaitable[Any]],
    ) -> Any:
        """What `use` makes of the newest handle; where it is refused, the message goes on being renewed."""
        work = await self.take(client, group, topic, message_id, given)
        try:
            return await use(given if work is None else work.handle)
        except BaseException as problem:
            ours = not isinstance(problem, Rejected) or problem.code != m.Code.INVALID_RECEIPT_HANDLE
            if work is not None and ours:
                self.renewals.put_back(work)
            raise

    def give_back(self, client: DoorClient, group: str | None = None) -> None:
        """A client is gone: others get what it had."""
        for work in self.renewals.give_back(client.name, group):
            self.later(self._last(work, GIVEN_BACK_MS))

    async def give_back_one(
        self, client: DoorClient, group: str, topic: str, message_id: str, given: DoorHandle
    ) -> None:
        """Others get a message soon that a client did not get, which may be renewed already."""
        work = await self.take(client, group, topic, message_id, given)
        await self.let_others(group, topic, given if work is None else work.handle, GIVEN_BACK_MS)

    def later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do `work` beside what is being served; whatever becomes of its call, it is done."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def stop(self) -> None:
        """Do nothing any more."""
        for task in self._tasks:
            task.cancel()
