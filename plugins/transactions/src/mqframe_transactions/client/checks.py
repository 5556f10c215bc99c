"""Answers checks of transactions (CHECK_TRANSACTION_STATE; source: ClientRemotingProcessor.java)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple, cast

from mqframe.client.connection.instance import ClientInstance
from mqframe.core.errors import MqframeError
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.requests.messages import CheckTransactionState, EndTransaction
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.sending.answer import DEFAULT_REGION
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.core.storage.record import RecordError, decode_record
from mqframe.hooks.interfaces import SendHook, TransactionEnd
from mqframe.hooks.isolate import transaction_ended
from mqframe.log import get_logger
from mqframe_transactions.client.listener import as_outcome, is_async
from mqframe_transactions.client.local_states import LocalTransactionStates

log = get_logger("client")

WORKERS: Final = 4
WAITING_MAX: Final = 2000
"""Questions that may wait for an answer, count. Beyond it they are dropped: the broker asks again."""


class Check(NamedTuple):
    """One question of the broker behind `peer`."""

    peer: Peer
    fields: CheckTransactionState
    message: ReceivedMessage


class CheckAnswers:
    """Answers for one producer group, on the loop of its client instance.

    `check`: asked about transactions that are not `known`; may be an `async def`. `workers`: questions
    answered at once; a plain `check` is called in as many threads.
    """

    def __init__(
        self,
        group: str,
        check: Callable[[ReceivedMessage], object] | None,
        known: LocalTransactionStates,
        workers: int = WORKERS,
        waiting_max: int = WAITING_MAX,
    ) -> None:
        self._group = group
        self._check = check
        self._known = known
        self._workers = workers
        self._waiting: asyncio.Queue[Check] = asyncio.Queue(waiting_max)
        self._tasks: list[asyncio.Task[None]] = []
        self._pool: ThreadPoolExecutor | None = None
        self._hooks: tuple[SendHook, ...] = ()

    @property
    def pool(self) -> ThreadPoolExecutor:
        """The threads that plain listeners are called in; made when they are needed first."""
        if self._pool is None:
            name = f"mqframe-transactions-{self._group}"
            self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix=name)
        return self._pool

    def start(self, instance: ClientInstance, hooks: Sequence[SendHook] = ()) -> None:
        """Have the brokers of `instance` answered, and `hooks` shown the answers. Twice does no harm."""
        if self._tasks:
            return
        self._hooks = tuple(hooks)
        instance.transaction_checks[self._group] = self.put
        serve_checks(instance)
        self._tasks = [asyncio.ensure_future(self._work()) for _ in range(self._workers)]

    async def stop(self, instance: ClientInstance) -> None:
        """Forget what waits. A listener that is being called in a thread ends by itself."""
        instance.transaction_checks.pop(self._group, None)
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def put(self, check: Check) -> None:
        """Answer `check` when it is its turn."""
        try:
            self._waiting.put_nowait(check)
        except asyncio.QueueFull:
            log.warning("too many transactions are asked for; the broker asks again", group=self._group)

    async def _work(self) -> None:
        while True:
            await self._answer(await self._waiting.get())

    async def _answer(self, check: Check) -> None:
        fields, message = check.fields, check.message
        outcome = await self._decide(message)
        unique = message.properties.get(p.UNIQUE_KEY)
        if self._hooks:
            transaction_ended(self._hooks, self._end(check, unique, outcome))
        try:
            check.peer.oneway(
                EndTransaction(
                    producer_group=self._group,
                    tran_state_table_offset=fields.tran_state_table_offset,
                    commit_log_offset=fields.commit_log_offset,
                    commit_or_rollback=int(outcome),
                    msg_id=unique or fields.msg_id or "",
                    topic=fields.topic,
                    from_transaction_check=True,
                    transaction_id=fields.transaction_id,
                    bname=fields.bname,
                )
            )
        except MqframeError as problem:
            log.warning("broker was not answered; it asks again", transaction=unique, reason=str(problem))

    def _end(self, check: Check, unique: str | None, outcome: TransactionOutcome) -> TransactionEnd:
        message = check.message
        return TransactionEnd(
            self._group, message, unique or check.fields.msg_id or "", message.transaction_id, outcome,
            check.peer.address, from_check=True,
            region_id=message.properties.get(p.MSG_REGION) or DEFAULT_REGION,
            trace_on=message.properties.get(p.TRACE_ON) != "false",
        )  # fmt: skip

    async def _decide(self, message: ReceivedMessage) -> TransactionOutcome:
        name = message.transaction_id
        known = self._known.find(name)
        if known is not None:
            return known
        check = self._check
        if check is None:
            log.warning("transaction of another process, and no listener to ask", transaction=name)
            return TransactionOutcome.UNKNOWN
        method = getattr(check, "__name__", "check")
        try:
            value = await self.call(check, message)
        except Exception:  # it is the application's; the broker asks again
            log.exception(f"{method} failed", transaction=name)
            return TransactionOutcome.UNKNOWN
        return as_outcome(value, method, name)

    async def call(self, method: Callable[..., object], *arguments: object) -> object:
        """The result of a method of the listener: awaited, or from a thread when it is plain."""
        if is_async(method):
            return await cast("Awaitable[object]", method(*arguments))
        return await asyncio.get_running_loop().run_in_executor(self.pool, method, *arguments)


def serve_checks(instance: ClientInstance) -> None:
    """Have `instance` hand questions of brokers to the producer group that they are about."""

    @serves(CheckTransactionState)
    def check(fields: CheckTransactionState, call: Call) -> Reply:
        try:
            message = decode_record(bytes(call.frame.body))
        except RecordError as problem:
            log.warning("question about a transaction cannot be read", reason=str(problem))
            return Reply()
        group = message.properties.get(p.PRODUCER_GROUP, "")
        put = instance.transaction_checks.get(group)
        if put is None:
            log.info("question about a transaction of another group", group=group)
        else:
            put(Check(call.peer, fields, message))
        return Reply()

    instance.remoting.serve(check)
