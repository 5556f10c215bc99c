"""What an application hands in to have messages sent together with its own transactions, and what it gets."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from mqframe.core.errors import FixError
from mqframe.core.messages.message import Message, ReceivedMessage, SendResult
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.log import get_logger

log = get_logger("client")


class HalfMessage(Message, frozen=True, gc=False):
    """A message that its broker holds back until the transaction `transaction_id` has ended."""

    transaction_id: str = ""


class TransactionSendResult(SendResult, frozen=True, gc=True):
    """What became of a transactional send: its half message, and how the transaction ended.

    `outcome`: what was sent to the broker. `error`: what `execute_local_transaction` raised; the outcome is
    UNKNOWN then, and the broker asks again.
    """

    outcome: TransactionOutcome = TransactionOutcome.UNKNOWN
    error: Exception | None = None


class TransactionListener:
    """The application's side of a transaction. Override both methods.

    With `AsyncTransactionProducer` each may be an `async def`; a plain one is called in a thread. With
    `TransactionProducer` both are plain: the first is called by the thread that sends, the other in threads.
    """

    def execute_local_transaction(
        self, message: HalfMessage, arg: Any
    ) -> TransactionOutcome | Awaitable[TransactionOutcome]:
        """Do the local transaction, now that the broker holds the half `message`.

        `arg`: what was passed to `send_in_transaction`. An exception counts as UNKNOWN.
        """
        raise NotImplementedError

    def check_local_transaction(
        self, message: ReceivedMessage
    ) -> TransactionOutcome | Awaitable[TransactionOutcome]:
        """Say how the transaction `message.transaction_id` ended, which any producer of the group began.

        UNKNOWN has the broker ask again later; so does an exception.
        """
        raise NotImplementedError


def is_async(method: object) -> bool:
    """Whether a method of a listener is an `async def`."""
    return inspect.iscoroutinefunction(method)


def check_of(listener: TransactionListener | None) -> Callable[[ReceivedMessage], object] | None:
    """What to ask about a transaction of another producer; `None` when there is nobody."""
    return None if listener is None else listener.check_local_transaction


def must_be_plain(listener: TransactionListener | None) -> None:
    """Raise `FixError` for a listener that a blocking producer cannot call."""
    for name in ("execute_local_transaction", "check_local_transaction"):
        if listener is not None and is_async(getattr(listener, name)):
            raise FixError(
                f"{type(listener).__name__}.{name} is an async def; make it plain, or use "
                "AsyncTransactionProducer"
            )


def as_outcome(value: object, method: str, transaction_id: str) -> TransactionOutcome:
    """What a listener said; anything but an outcome counts as UNKNOWN and is logged."""
    if isinstance(value, TransactionOutcome):
        return value
    gave = type(value).__name__
    log.error("transaction listener gave no outcome", method=method, gave=gave, transaction=transaction_id)
    return TransactionOutcome.UNKNOWN


def send_result(
    sent: SendResult, outcome: TransactionOutcome, error: Exception | None
) -> TransactionSendResult:
    """`sent` together with the end of its transaction."""
    fields = msgspec.structs.asdict(sent)
    # Brokers before 5.0.0 do not say it; when they ask, they name the transaction by the unique key.
    fields["transaction_id"] = sent.transaction_id or sent.message_id
    return TransactionSendResult(**fields, outcome=outcome, error=error)
