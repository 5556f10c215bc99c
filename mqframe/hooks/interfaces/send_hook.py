"""Send hooks: called before a send is encoded, before and after each of its tries, and when it is over."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mqframe.core.messages.message import Message, MessageQueue, ReceivedMessage, SendResult
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.hooks.interfaces.hook_port import ClientHook
from mqframe.hooks.interfaces.send_operation import SendOperation


@attrs.define
class SendContext:
    """One try of a send. `messages` has one element except for batches; `mode`: "sync", "async" or "oneway".

    `result` and `error` are set before `after`. `extras` is the hooks' own, from `before` to `after`; where a
    hook has `prepare` or `finish` it is the operation's, from `prepare` to `finish`.
    """

    group: str
    messages: Sequence[Message]
    message_ids: Sequence[str]
    queue: MessageQueue
    broker_address: str
    mode: str
    born_timestamp: int
    result: SendResult | None = None
    error: BaseException | None = None
    extras: dict[str, object] = attrs.field(factory=dict)


@attrs.frozen
class TransactionEnd:
    """How a transaction ended, as its broker is told by one request that nobody answers.

    `message`: the half message; one that a broker asked about is a `ReceivedMessage`, with its properties.
    `from_check`: whether the broker asked. `region_id`, `trace_on`: what the broker said when it stored the
    half, as in `SendResult`.
    """

    group: str
    message: Message | ReceivedMessage
    message_id: str
    transaction_id: str
    outcome: TransactionOutcome
    broker_address: str
    from_check: bool
    region_id: str
    trace_on: bool


class SendHook(ClientHook[SendContext]):
    """Sees each send: before it is encoded, before and after each try, and when it is over.

    `prepare` and `finish` are called once a send, for each message that is submitted by itself, and never for
    `send_encoded`, whose messages are fixed.
    """

    def prepare(self, operation: SendOperation) -> None:
        """Called once, by the thread or task that sends, after the messages were found legal.

        Here `operation.set_property` works. Hooks see what those before them have set. `SendStopped`
        stops the send; after any other exception nothing that this hook has set is sent.
        """

    def finish(self, operation: SendOperation) -> None:
        """Called once, when the result is there or nothing more is tried; also when an error came before."""

    def transaction_ended(self, end: TransactionEnd) -> None:
        """Called before a broker is told how a transaction ended, also each time that it has asked.

        Not for transactions of whole batches (`BatchTransactionProducer`), whose messages are not known then.
        """
