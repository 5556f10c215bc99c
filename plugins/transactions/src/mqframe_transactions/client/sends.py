"""Half messages and their ends, for both APIs (source: DefaultMQProducerImpl.sendMessageInTransaction)."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from types import TracebackType

import msgspec

from mqframe.client.sending.api import SendApi
from mqframe.client.sending.blocking_transport import run_blocking
from mqframe.client.sending.prepared_sends import PreparedSend, UnpreparedSend, begin
from mqframe.client.settings import ProducerSettings
from mqframe.core.codes import SysFlag
from mqframe.core.errors import AnswerError, ClosedError, MessageError, MqframeError, answer_error
from mqframe.core.messages import properties as p
from mqframe.core.messages.checks import check_message, check_properties_size
from mqframe.core.messages.ids import parse_offset_id
from mqframe.core.messages.message import (
    Message,
    MessageQueue,
    SendResult,
    SendStatus,
    with_properties,
)
from mqframe.core.requests.messages import EndTransaction
from mqframe.core.sending.retries import BOUND
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.hooks.interfaces import TransactionEnd
from mqframe.hooks.isolate import transaction_ended
from mqframe.log import get_logger
from mqframe_transactions.client.listener import (
    HalfMessage,
    TransactionSendResult,
    as_outcome,
    send_result,
)
from mqframe_transactions.client.local_states import LocalTransactionStates
from mqframe_transactions.rules.half_batch import PreparedHalf

log = get_logger("client")


class Where(msgspec.Struct, frozen=True):
    """Where a half message is for, and how long things take; as the arguments of `send`.

    `check_after`: seconds in which the broker does not ask, its own time-out (6 s) by default.
    """

    queue: MessageQueue | None = None
    selector: object = None
    sharding_key: object = None
    timeout: float | None = None
    check_after: float | None = None


class Begun(msgspec.Struct, frozen=True):
    """A stored half message: what the broker said, and the message with its transaction id."""

    half: HalfMessage
    sent: SendResult

    @property
    def stored_ok(self) -> bool:
        """Whether the transaction may go on: any status but SEND_OK means a rollback."""
        return self.sent.status is SendStatus.SEND_OK


Execute = Callable[[HalfMessage], Awaitable[object]]
"""Does the local transaction of a half message and returns its outcome."""


class TransactionSends:
    """Runs the transactions of one producer.

    `running`: returns its sends, and raises `ClosedError` unless it runs.
    """

    def __init__(
        self,
        running: Callable[[], SendApi],
        group: str,
        known: LocalTransactionStates,
        settings: ProducerSettings,
    ) -> None:
        self._running = running
        self._group = group
        self._known = known
        self._plain_bytes_max = settings.plain_bytes_max
        self._seconds = settings.send_timeout_seconds

    async def run(self, message: Message, where: Where, execute: Execute) -> TransactionSendResult:
        """Send `message` as a half, have its transaction done, notify the broker of its end.

        A status other than SEND_OK is a rollback, and nothing is executed. Raises as `begin`.
        """
        begun = await self.begin(message, where)
        outcome, error = TransactionOutcome.ROLLBACK, None
        if begun.stored_ok:
            outcome, error = await self._execute(begun, execute)
        await self.end(begun, outcome)
        return send_result(begun.sent, outcome, error)

    async def _execute(self, begun: Begun, execute: Execute) -> tuple[TransactionOutcome, Exception | None]:
        name = begun.half.transaction_id
        try:
            value = await execute(begun.half)
        except Exception as problem:  # the listener is the application's: the broker asks how it ended
            log.exception("execute_local_transaction failed", transaction=name)
            return TransactionOutcome.UNKNOWN, problem
        except BaseException:  # re-raised: nobody knows how it ended, so the listener is asked
            self._known.end(name, TransactionOutcome.UNKNOWN)
            raise
        return as_outcome(value, "execute_local_transaction", name), None

    async def begin(self, message: Message, where: Where) -> Begun:
        """Send the half message, once. Raises as `send`; then nothing is to be done, and the broker gets that
        answer when it asks."""
        check_message(message, self._plain_bytes_max)
        api = self._running()
        own = half_properties(self._group, where.check_after)
        key = where.sharding_key
        with begin(api.pipeline.preparing, message, asked=own, sharding_key=key) as prepared:
            begun = await self._begin(api, prepared, own, where)
            prepared.done(begun.sent)
        return begun

    async def _begin(
        self, api: SendApi, prepared: PreparedSend | UnpreparedSend, own: dict[str, str], where: Where
    ) -> Begun:
        [message] = prepared.messages
        batch = prepared.carried_by(api.pipeline.encoder.one(message))
        [transaction_id] = batch.ids
        fields = {name: getattr(message, name) for name in Message.__struct_fields__}
        half = HalfMessage(**fields, transaction_id=transaction_id)
        # What hooks see tells them that it is a half.
        shown = with_properties(half, own)
        batch.messages = (shown,)
        batch.properties += p.encode_properties(own)
        check_properties_size(batch.properties, message.topic)
        batch.sys_flag |= SysFlag.TRANSACTION_PREPARED
        self._known.begin(transaction_id)
        try:
            sent = await api.send(
                shown, batch, where.queue, where.selector, where.sharding_key, where.timeout, BOUND
            )
        except BaseException:  # re-raised: nothing was done in it, so nothing is to be delivered
            self._known.end(transaction_id, TransactionOutcome.ROLLBACK)
            raise
        return Begun(half, sent)

    async def end(self, begun: Begun, outcome: TransactionOutcome) -> None:
        """Notify the broker, without an answer. What fails is logged: the broker asks later."""
        sent, half = begun.sent, begun.half
        self._known.end(half.transaction_id, outcome)
        try:
            pipeline = self._running().pipeline

            async def find_address(left: float) -> str:
                return await pipeline.address(await pipeline.route(half.topic, left), sent.queue, left)

            async def notify(left: float) -> None:
                await pipeline.transport.oneway(await find_address(left), request, timeout=left)

            address = await pipeline.patience.over(find_address, self._seconds)
            request = end_request(self._group, prepared_half(sent, half.topic, 1), outcome)
            if pipeline.hooks:
                end = TransactionEnd(
                    self._group, half, sent.message_id, half.transaction_id, outcome, address,
                    from_check=False, region_id=sent.region_id, trace_on=sent.trace_on,
                )  # fmt: skip
                transaction_ended(pipeline.hooks, end)
            await pipeline.patience.over(notify, self._seconds)
        except MqframeError as problem:
            log.warning(
                "end of a transaction was not sent; the broker will ask",
                transaction=half.transaction_id, outcome=outcome.name, reason=str(problem),
            )  # fmt: skip


class OpenTransaction:
    """A transaction under way, as `with producer.transaction(message) as transaction` begins it.

    Committed at the end of the block, rolled back when the block raises. `commit`, `rollback` and `unknown`
    change what the end of the block says.
    """

    def __init__(self, transactions: TransactionSends, message: Message, where: Where) -> None:
        self._transactions = transactions
        self._message = message
        self._where = where
        self._begun: Begun | None = None
        self._failure = TransactionOutcome.ROLLBACK
        self.outcome = TransactionOutcome.COMMIT

    @property
    def message(self) -> HalfMessage:
        """The half message. Raises `ClosedError` before the block began."""
        return self._running().half

    @property
    def sent(self) -> SendResult:
        """What the broker said to it."""
        return self._running().sent

    @property
    def transaction_id(self) -> str:
        """The name of the transaction, the same in every process: keep it with what you do in it."""
        return self._running().half.transaction_id

    def commit(self) -> None:
        """Deliver the message when the block ends."""
        self.outcome = TransactionOutcome.COMMIT

    def rollback(self) -> None:
        """Drop the message when the block ends."""
        self.outcome = TransactionOutcome.ROLLBACK

    def unknown(self) -> None:
        """Leave it open, also when the block raises: the broker will ask the listener."""
        self.outcome = TransactionOutcome.UNKNOWN

    def in_doubt(self) -> None:
        """From here on an exception means that nobody knows: leave it open instead of rolling back.

        For the moment before a database commits: when that fails, it may have happened all the same.
        """
        self._failure = TransactionOutcome.UNKNOWN

    async def _begin(self) -> None:
        """Send the half message. Raises as `send`, and `AnswerError` unless the status is SEND_OK."""
        if self._begun is not None:
            raise ClosedError("the transaction has begun before; make a new one for each block")
        begun = await self._transactions.begin(self._message, self._where)
        if not begun.stored_ok:
            await self._transactions.end(begun, TransactionOutcome.ROLLBACK)
            raise not_durable(begun.sent)
        self._begun = begun

    async def _end(self, problem: BaseException | None) -> None:
        """Notify the broker how it ended; `problem`: what the block raised."""
        begun = self._running()
        if problem is not None and self.outcome is not TransactionOutcome.UNKNOWN:
            self.outcome = self._failure
        await self._transactions.end(begun, self.outcome)

    def _running(self) -> Begun:
        if self._begun is None:
            raise ClosedError("the transaction has not begun; use it in a with block")
        return self._begun


class AsyncTransaction(OpenTransaction):
    """A transaction around an `async with` block. See `OpenTransaction`."""

    async def __aenter__(self) -> AsyncTransaction:
        await self._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end(problem)


class Transaction(OpenTransaction):
    """A transaction around a `with` block. See `OpenTransaction`."""

    def __enter__(self) -> Transaction:
        run_blocking(self._begin())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        run_blocking(self._end(problem))


def prepared_half(sent: SendResult, topic: str, count: int, *, repeatable: bool = False) -> PreparedHalf:
    """The half that `sent` says was stored; it stands for `count` messages to `topic`.

    Raises `FixError` when the broker gave no offset of it.
    """
    queue = sent.queue
    return PreparedHalf(
        queue.broker_name,
        topic,
        queue.queue_id,
        sent.queue_offset,
        parse_offset_id(sent.offset_message_id)[1],
        sent.transaction_id or sent.message_id,
        count,
        repeatable,
    )


def end_request(group: str, half: PreparedHalf, outcome: TransactionOutcome) -> EndTransaction:
    """The request that ends the transaction of `half`."""
    return EndTransaction(
        producer_group=group,
        tran_state_table_offset=half.queue_offset,
        commit_log_offset=half.commit_log_offset,
        commit_or_rollback=int(outcome),
        msg_id=half.transaction_id,
        topic=half.topic,
        from_transaction_check=False,
        transaction_id=half.transaction_id,
        bname=half.broker_name,
    )


def not_durable(sent: SendResult) -> AnswerError:
    """The error for a half that its broker holds less safely than it is configured to."""
    return answer_error(
        sent.status.value,
        "the half message was stored, but not as durably as configured; it was rolled back",
        sent.queue.broker_name,
    )


def half_properties(group: str, check_after: float | None = None) -> dict[str, str]:
    """What makes a message a half of the producer group `group`.

    `check_after`: seconds in which the broker does not ask. Raises `MessageError` when it is no such number.
    """
    own = {p.TRANSACTION_PREPARED: "true", p.PRODUCER_GROUP: group}
    if check_after is not None:
        if not 0 <= check_after < math.inf:
            raise MessageError(f"check_after is {check_after}, not a number of seconds from 0 on")
        own[p.CHECK_IMMUNITY_SECONDS] = str(math.ceil(check_after))
    return own
