"""Transactions: half messages, their ends, and the checks of those that stay open (END_TRANSACTION, …).

Sources: EndTransactionProcessor.java, TransactionalMessageServiceImpl.java, AdminBrokerProcessor.java.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.measuring.family import Metric, MetricKind, one
from mqframe.core.messages import properties as p
from mqframe.core.messages.ids import parse_offset_id
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import CHECK_MAX_TIME_TOPIC, HALF_TOPIC
from mqframe.core.requests.admin import ResumeCheckHalfMessage
from mqframe.core.requests.failures import not_confirmed
from mqframe.core.requests.messages import EndTransaction
from mqframe.core.requests.needs import Action, topic_need
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.sending.message_type import TRANSACTION
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.core.storage.outcome import Outcome
from mqframe.core.storage.record import decode_record
from mqframe.core.storage.stored import Stored
from mqframe.hooks.interfaces import BrokerPort, BrokerService, OnArrival, Periodic
from mqframe.log import get_logger
from mqframe.trouble import Trouble
from mqframe_transactions.broker.checker import TransactionChecker
from mqframe_transactions.broker.ends import TransactionEnds
from mqframe_transactions.broker.half_queue import HalfQueue
from mqframe_transactions.requests import SendHalfBatch
from mqframe_transactions.rules.half_batch import check_half_batch
from mqframe_transactions.rules.half_rules import (
    ENDED_ALREADY,
    Age,
    CheckLimits,
    Step,
    check_end,
    ended_already,
    next_step,
    root_of,
    times_checked,
)
from mqframe_transactions.settings import TransactionSettings

log = get_logger("broker")

BEHIND_MAX: Final = 1 << 16
"""A half that may not be checked yet is put back at the end once so many lie behind it: it would hold up both
offsets, and with them what a restart has to read."""


class TransactionProcessor(BrokerService):
    """Ends transactions, and asks for the ends that do not come.

    `is_master`: whether this broker takes ends.
    """

    def __init__(
        self,
        halves: HalfQueue,
        checker: TransactionChecker,
        port: BrokerPort,
        is_master: Callable[[], bool] = lambda: True,
    ) -> None:
        self._halves = halves
        self._checker = checker
        self._topics = port.topics
        self._send_whole = port.send_whole
        self._settings, clock, self._counts = port.settings(TransactionSettings), port.clock, port.counts
        self._ends = TransactionEnds(clock)
        self._unchecked = Trouble(log, clock.monotonic, level=logging.ERROR)
        self._is_master = is_master
        self._asked = (0, 0)

    def periodic(self) -> list[Periodic]:
        """Asks for what stays open."""
        seconds = self._settings.current.check_interval_ms / 1000
        return [Periodic(seconds, self.check, "transactions")]

    async def start(self) -> None:
        """Find out which transactions are open."""
        await self._halves.recover()

    def arrivals(self) -> Mapping[str, OnArrival]:
        """Halves, for their ages."""
        return {HALF_TOPIC: self._arrived}

    def _arrived(self, topic: str, queue_id: int, max_offset: int, codes: Collection[int]) -> None:
        self._halves.ages.stored(max_offset - len(codes))

    async def stop(self) -> None:
        """Keep how far both queues are worked off."""
        self._halves.advance()

    # Batches as halves

    @serves(SendHalfBatch)
    def send(self, fields: SendHalfBatch, call: Call) -> Reply | None:
        fields.batch = True
        return self._send_whole(fields, call, partial(check_half_batch, fields))

    # Ends

    @serves(EndTransaction)
    def end(self, fields: EndTransaction, call: Call) -> Reply | None:
        reply = Reply()
        try:
            self._finish(fields, call)
        except Refusal as refusal:
            log.warning(
                "end of a transaction refused",
                peer=call.peer.address, group=fields.producer_group, transaction=fields.msg_id,
                outcome=fields.commit_or_rollback, code=int(refusal.code), reason=refusal.remark,
            )  # fmt: skip
            if refusal.code != ENDED_ALREADY:
                raise
            reply = Reply(refusal.code, remark=refusal.remark)  # by an end that the disk may not have yet
        if call.oneway:
            self._halves.when_durable(lambda durable: None)  # consumers must not wait for the next flush
            return Reply()
        self._when_durable(call, reply)
        return None

    def _when_durable(self, call: Call, reply: Reply) -> None:
        """Answer with `reply` once what was written is durable, or with why it is not."""

        def answer(outcome: Outcome) -> None:
            if outcome is Outcome.CONFIRMED:
                call.reply(reply)
            else:
                unknown = "whether it counts after a crash is not known"
                call.reply(not_confirmed(outcome, "what was stored", unknown))

        self._halves.when_decided(answer)

    def _finish(self, fields: EndTransaction, call: Call) -> None:
        if not self._is_master():
            raise Refusal(ResponseCode.SLAVE_NOT_AVAILABLE, "a slave ends no transactions; ask its master")
        record = self._halves.record_at(fields.commit_log_offset)
        half = None if record is None else decode_record(record)
        timeout_ms, age = self._settings.current.timeout_ms, Age(0, 0)
        if half is not None and half.topic == HALF_TOPIC and p.CHECK_IMMUNITY_SECONDS in half.properties:
            age = self._halves.ages.age(half)  # otherwise no end comes too late
        outcome = check_end(fields, half, age, timeout_ms)
        if outcome is TransactionOutcome.UNKNOWN:
            log.info("transaction left open", transaction=fields.msg_id, peer=call.peer.address)
            return
        assert half is not None
        assert record is not None
        call.demand(topic_need(half.properties[p.REAL_TOPIC], (Action.PUB,)))
        if self._halves.table.place(root_of(half)) is None:
            raise ended_already(fields)
        if outcome is TransactionOutcome.COMMIT:
            delivered = self._halves.commit(half, record)
            self._ends.committed(half)
            if delivered.messages:  # none where a crash had left all of them
                self._counts.stored(delivered.topic, delivered.messages, delivered.size, TRANSACTION)
        else:
            self._halves.roll_back(half)
            self._ends.rolled_back(half)

    def counters(self) -> dict[str, str]:
        """How many transactions are open."""
        return {"halfMessages": str(self._halves.table.open(self._halves.end))}

    async def metrics(self) -> Sequence[Metric]:
        """How many transactions are open, and how others ended."""
        halves = self._halves.table.open(self._halves.end)
        open_now = one("rocketmq_half_messages", MetricKind.GAUGE, "Open transactions of all topics.", halves)
        return open_now, *self._ends.tables()

    # Checks

    async def check(self) -> None:
        """Go once through the open halves that are in the queue now, with turns for the loop in between."""
        halves, settings = self._halves, self._settings.current
        limits = CheckLimits(settings.timeout_ms, settings.check_max, halves.keep_ms)
        end, at = halves.end, halves.table.half_cursor
        try:
            while (at := halves.table.next_open(at, end)) < end:
                found = await halves.read(at)
                if not found:
                    break  # no longer kept: `advance` passes it
                for half in found:
                    at = half.queue_offset
                    if at >= end:
                        break
                    if halves.table.next_open(at, at + 1) == at:
                        step = next_step(half, halves.ages.age(half), limits)
                        if step is Step.YOUNG:
                            return
                        # One that fails stays open, and counts for nobody but itself.
                        act = partial(self._act, half, step, far_behind=end - at > BEHIND_MAX)
                        halves.attempt(half, act)
                    at += 1
                await asyncio.sleep(0)
        except Refusal as refusal:
            self._unchecked.note("transactions are not checked", reason=refusal.remark)
        else:
            self._unchecked.over("transactions are checked again")
        finally:
            halves.advance()
            (asked, silent), self._asked = self._asked, (0, 0)
            if asked or silent:
                log.info("transactions checked", asked=asked, without_producer=silent)

    def _act(self, half: ReceivedMessage, step: Step, *, far_behind: bool) -> None:
        if step is Step.CHECK:
            heard = self._ask(half)
            asked, silent = self._asked
            self._asked = asked + heard, silent + (not heard)
        elif step is Step.DISCARD:
            self._discard(half)
        elif far_behind:
            self._halves.put_back(half)

    def _ask(self, half: ReceivedMessage) -> bool:
        times = times_checked(half.properties) + 1
        try:
            stored, properties = self._halves.put_back(half, times)
        except Refusal as refusal:
            if refusal.code != ResponseCode.MESSAGE_ILLEGAL:
                raise
            # No room for how often it was asked for: it is asked for where it is, until it is too old.
            stored = Stored(half.commit_log_offset, half.queue_offset, half.store_size, half.store_timestamp)
            properties = dict(half.properties)
        return self._checker.ask(half, stored, properties)

    def _discard(self, half: ReceivedMessage) -> None:
        self._topics.ensure(CHECK_MAX_TIME_TOPIC, 1)
        self._halves.put(CHECK_MAX_TIME_TOPIC, half, dict(half.properties))
        self._halves.close(half)
        log.error(
            "transaction discarded: nobody said how it ended",
            transaction=half.message_id, group=half.properties.get(p.PRODUCER_GROUP),
            topic=half.properties.get(p.REAL_TOPIC), checks=times_checked(half.properties),
            moved_to=CHECK_MAX_TIME_TOPIC,
        )  # fmt: skip

    # 323

    @serves(ResumeCheckHalfMessage)
    def resume(self, fields: ResumeCheckHalfMessage, call: Call) -> None:
        """Check a half again from the beginning: one that is open, or one that was discarded."""
        message_id = fields.msg_id
        _, offset = parse_offset_id(message_id)
        half = self._halves.at(offset)
        if half is None or half.topic not in (HALF_TOPIC, CHECK_MAX_TIME_TOPIC):
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"message {message_id} is no half message")
        if half.topic == HALF_TOPIC:
            if self._halves.table.place(root_of(half)) is None:
                raise Refusal(ResponseCode.ILLEGAL_OPERATION, f"the transaction of {message_id} has ended")
            self._halves.put_back(half, 0)
        else:
            properties = dict(half.properties)
            properties.pop(p.PREPARED_QUEUE_OFFSET, None)
            properties[p.CHECK_TIMES] = "0"
            self._halves.put(HALF_TOPIC, half, properties)
        self._when_durable(call, Reply())
