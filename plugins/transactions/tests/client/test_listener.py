"""Listeners of transactions: which can be called how, and what their answers mean."""

from __future__ import annotations

import pytest
from mqframe_transactions.client.listener import (
    TransactionListener,
    as_outcome,
    check_of,
    is_async,
    must_be_plain,
    send_result,
)

from mqframe.core.errors import FixError
from mqframe.core.messages.message import MessageQueue, SendResult, SendStatus
from mqframe.core.sending.transaction_outcome import TransactionOutcome


class Plain(TransactionListener):
    def execute_local_transaction(self, message, arg):
        return TransactionOutcome.COMMIT

    def check_local_transaction(self, message):
        return TransactionOutcome.ROLLBACK


class Waiting(Plain):
    async def check_local_transaction(self, message):
        return TransactionOutcome.ROLLBACK


def test_only_plain_listeners_go_with_a_blocking_producer():
    must_be_plain(None)
    must_be_plain(Plain())
    with pytest.raises(FixError, match=r"Waiting.check_local_transaction is an async def; make it plain"):
        must_be_plain(Waiting())
    assert is_async(Waiting().check_local_transaction)
    assert not is_async(Waiting().execute_local_transaction)


def test_without_a_listener_there_is_nobody_to_ask():
    listener = Plain()
    assert check_of(None) is None
    assert check_of(listener) == listener.check_local_transaction


@pytest.mark.parametrize("outcome", list(TransactionOutcome))
def test_an_outcome_counts_as_it_is(outcome):
    assert as_outcome(outcome, "check", "t1") is outcome


@pytest.mark.parametrize("value", [None, True, 8, "COMMIT"])
def test_anything_else_is_unknown_and_logged(value, caplog):
    assert as_outcome(value, "check", "t1") is TransactionOutcome.UNKNOWN
    assert "transaction listener gave no outcome" in caplog.text


def test_a_result_is_that_of_the_half_and_how_it_ended():
    sent = SendResult(SendStatus.SEND_OK, "id", MessageQueue("orders", "broker-a", 1), 5, "offset id")
    problem = ValueError("no stock")
    result = send_result(sent, TransactionOutcome.UNKNOWN, problem)
    assert (result.status, result.message_id, result.queue, result.queue_offset) == (
        SendStatus.SEND_OK,
        "id",
        MessageQueue("orders", "broker-a", 1),
        5,
    )
    assert (result.offset_message_id, result.outcome) == ("offset id", TransactionOutcome.UNKNOWN)
    assert result.error is problem
