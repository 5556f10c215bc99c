"""Transactions on each version's broker: who sends nothing is asked, too, about the same id as Java's."""

from __future__ import annotations

import contextlib

import pytest
from real_time import until

from interop.conftest import StartJava
from interop.servers import Servers
from mqframe import (
    Message,
    Puller,
    ReceivedMessage,
    TransactionListener,
    TransactionOutcome,
    TransactionProducer,
)

pytestmark = pytest.mark.proves("transactions")


class Asked(TransactionListener):
    """Does not know how a transaction ended until it is asked: commits it then. Keeps (body, id, topic)."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []

    def execute_local_transaction(self, message: Message, arg: object) -> TransactionOutcome:
        return TransactionOutcome.UNKNOWN

    def check_local_transaction(self, message: ReceivedMessage) -> TransactionOutcome:
        self.asked.append((message.body.decode(), message.transaction_id, message.topic))
        return TransactionOutcome.COMMIT


def test_an_idle_producer_answers_for_its_group(servers: Servers, topic: str, java: StartJava) -> None:
    group = f"of_{topic}"
    listener = Asked()
    with TransactionProducer(group, listener, nameserver=servers.nameserver) as ours:
        sent = ours.send_in_transaction(Message(topic, b"unknown-commit"))
        assert sent.transaction_id == sent.message_id
        # The broker asks any producer of the group, so Java's begins where ours ends.
    with contextlib.ExitStack() as over:
        theirs = java("Transactions", "produce", servers.nameserver, group, topic, "unknown-unknown")
        over.callback(theirs.end)
        lines: dict[str, list[str]] = {}
        while len(lines) < 2:  # a broker may ask for one of them twice before it asks for the other
            lines |= {line[1]: line for line in theirs.take("checked", 1)}
        assert lines["unknown-commit"][2:4] == [sent.transaction_id, topic]
        java_id = lines["unknown-unknown"][2]
        theirs.finish()
    with TransactionProducer(group, listener, nameserver=servers.nameserver):
        until(lambda: ("unknown-unknown", java_id, topic) in listener.asked)
        with Puller(nameserver=servers.nameserver) as puller:
            queues = puller.queues(topic)

            def delivered() -> set[tuple[bytes, str]]:
                found = [each for queue in queues for each in puller.pull(queue, 0).messages]
                return {(each.body, each.message_id) for each in found}

            # A broker that asks again before it has noted the first answer delivers once more.
            until(lambda: len(delivered()) == 2)
            assert delivered() == {(b"unknown-commit", sent.message_id), (b"unknown-unknown", java_id)}
