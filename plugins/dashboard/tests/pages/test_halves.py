"""Half messages: transactions that wait for their end."""

from __future__ import annotations

import pytest
from dashboard_shop import Undecided
from mqframe_dashboard.pages import halves
from mqframe_dashboard.pages.halves import open_halves
from mqframe_testing import Cluster

from mqframe import Message, TransactionProducer
from mqframe.core.errors import ConnectError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.properties import encode_properties

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def producer(mqframe_cluster: Cluster):
    """A producer that does not know how its transactions end, unless it is told."""
    mqframe_cluster.create_topic("payments", 1)
    with TransactionProducer("till", Undecided(), nameserver=mqframe_cluster.nameserver) as producer:
        yield producer


def half(at: int, key: str = "", **properties: str) -> ReceivedMessage:
    text = encode_properties(({"UNIQ_KEY": key} if key else {}) | properties).encode()
    hosts = b"\x7f\0\0\1\0\0\0\1"
    return ReceivedMessage("t", 0, at, at, 1, 0, 0, hosts, hosts, 0, 0, 0, 0, 0, b"x", text)


def test_no_transaction_waits(browser):
    assert "no transaction waits for its end" in browser.page("/halves")


def test_open_transactions_are_listed_and_ended_ones_are_not(browser, producer):
    with producer.transaction(Message("payments", b"committed")):
        pass
    with pytest.raises(KeyError), producer.transaction(Message("payments", b"rolled back")):
        raise KeyError
    sent = producer.send_in_transaction(Message("payments", b"open", "card", ["k1"]))
    page = browser.page("/halves")
    while page.count('href="message?') != 1:  # ends are sent one-way
        page = browser.page("/halves")
    assert f">{sent.message_id}</a>" in page
    assert "<td>till</td>" in page
    assert '<a href="topic?name=payments">payments</a></td><td class="number">0</td>' in page
    assert "<td>card</td><td>k1</td>" in page
    assert "Showing 1 of 1." in page
    assert "open" in browser.page("/message", topic="RMQ_SYS_TRANS_HALF_TOPIC", id=sent.offset_message_id)


def test_nothing_of_a_half_is_taken_for_html(browser, producer):
    producer.send_in_transaction(Message("payments", b"x", EVIL, [EVIL]))
    page = browser.page("/halves")
    assert "<script>" not in page
    assert page.count("&lt;script&gt;") == 2


def test_more_than_is_looked_at_is_said(browser, producer, monkeypatch):
    monkeypatch.setattr(halves, "LOOKED_AT", 2)
    for _ in range(3):
        producer.send_in_transaction(Message("payments", b"x"))
    assert "broker-a: looked at the oldest 2 of 3 that are not settled." in browser.page("/halves")


def test_a_broker_that_does_not_answer_is_told(browser, monkeypatch):
    async def fails(self, *arguments):
        raise ConnectError("gone <b>")

    monkeypatch.setattr("mqframe_admin.client.brokers.AsyncBrokerAdmin.call", fails)
    assert "broker-a does not tell its half messages: gone &lt;b&gt;" in browser.page("/halves")


def test_the_last_copy_stands_for_a_transaction():
    first, other, copy = half(0, "A"), half(1, "B"), half(2, "A", TRANSACTION_CHECK_TIMES="1")
    assert open_halves([first, other, copy], []) == [copy, other]


@pytest.mark.parametrize("ended", [0, 2])
def test_an_end_of_any_copy_ends_a_transaction(ended):
    halves = [half(0, "A"), half(1, "B"), half(2, "A"), half(3, "A")]
    assert open_halves(halves, {ended}) == [halves[1]]


def test_copies_without_a_key_are_known_by_the_place_of_the_first():
    copy = half(7, TRAN_PREPARED_QUEUE_OFFSET="5")
    assert open_halves([half(5), half(6), copy], {6}) == [copy]
    assert open_halves([copy], {5}) == []
