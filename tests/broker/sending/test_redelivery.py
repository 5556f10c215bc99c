"""Messages that waited go where they belong, whole; what can never be stored does not hold up the others."""

from __future__ import annotations

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.sending.redelivery import Redelivery
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.identity import Identity
from mqframe.broker.tables.left_out import LeftOut
from mqframe.core.errors import Refusal
from mqframe.core.messages.addresses import encode_host
from mqframe.core.storage.left_out import MessagePlace
from mqframe.core.storage.record import encode_record

HOST = encode_host("10.0.0.1:10911")
PLACE = {"REAL_TOPIC": "t", "REAL_QID": "3"}


def left_out() -> LeftOut:
    return LeftOut(ManualClock(), Identity(BrokerSettings(host="127.0.0.1")))


class Writer:
    """Notes what is put; `refuses` is raised for messages with more than `most` properties."""

    def __init__(self, refuses: int = 0, most: int = -1) -> None:
        self.refuses, self.most = refuses, most
        self.puts: list[tuple] = []

    def put(self, topic, queue_id, body, properties, **more):
        if self.refuses and len(properties) > self.most:
            raise Refusal(self.refuses, "no")
        self.puts.append((topic, queue_id, bytes(body), dict(properties), more))


def message(redelivery: Redelivery, **properties: str):
    text = "".join(f"{name}\x01{value}\x02" for name, value in properties.items())
    record = encode_record(
        topic="SCHEDULE_TOPIC_XXXX", queue_id=0, queue_offset=5, physical_offset=700, body=b"body",
        properties=text.encode(), born_timestamp=11, born_host=HOST, store_timestamp=12, store_host=HOST,
    )  # fmt: skip
    return redelivery.read(record, MessagePlace("SCHEDULE_TOPIC_XXXX", 0, 5, 700))


def test_it_goes_to_its_real_queue_as_it_was_sent():
    writer = Writer()
    redelivery = Redelivery(writer, left_out())
    redelivery.put(message(redelivery, **PLACE, TAGS="a"), {"TAGS": "a"})
    [(topic, queue_id, body, properties, more)] = writer.puts
    assert (topic, queue_id, body, properties) == ("t", 3, b"body", {"TAGS": "a"})
    assert (more["born_timestamp"], more["born_host"], more["heed_delay"]) == (11, HOST, False)


def test_a_message_that_says_no_place_is_left_out():
    writer = Writer()
    noted = left_out()
    redelivery = Redelivery(writer, noted)
    redelivery.put(message(redelivery, TAGS="a"))
    assert writer.puts == []
    assert [(each.queue_offset, each.log_offset) for each in noted.messages.newest] == [(5, 700)]


def test_a_full_disk_is_for_the_caller_to_wait_for():
    redelivery = Redelivery(Writer(refuses=14), left_out())
    with pytest.raises(Refusal):
        redelivery.put(message(redelivery, **PLACE))


def test_what_grew_too_large_is_stored_as_it_was_and_else_left_out():
    writer = Writer(refuses=13, most=3)
    redelivery = Redelivery(writer, left_out())
    sent = message(redelivery, **PLACE, TAGS="a")
    redelivery.put(sent, {**sent.properties, "MORE": "x"})
    assert [put[3] for put in writer.puts] == [sent.properties]
    writer.most = 2
    redelivery.put(sent, {**sent.properties, "MORE": "x"})
    assert len(writer.puts) == 1


def test_bytes_that_are_no_record_are_left_out():
    noted = left_out()
    place = MessagePlace("SCHEDULE_TOPIC_XXXX", 3, 5, 700)
    assert Redelivery(Writer(), noted).read(b"\0" * 100, place) is None
    (each,) = noted.messages.newest
    assert (each.topic, each.queue_id, each.queue_offset, each.log_offset) == place


def test_what_is_gone_by_age_is_not_noted():
    noted = left_out()
    redelivery = Redelivery(Writer(), noted)
    redelivery.gone(MessagePlace("SCHEDULE_TOPIC_XXXX", 3, 5, 699), 700)
    assert noted.messages.total == 0
    redelivery.gone(MessagePlace("SCHEDULE_TOPIC_XXXX", 3, 6, 700), 700)
    assert noted.messages.total == 1


@pytest.mark.parametrize("odd", [OverflowError("int too large"), KeyError("x"), RecursionError()])
def test_an_odd_error_leaves_its_message_out(odd):
    class Odd(Writer):
        def put(self, topic, queue_id, body, properties, **more):
            raise odd

    noted = left_out()
    redelivery = Redelivery(Odd(), noted)
    redelivery.put(message(redelivery, **PLACE))
    redelivery.put(message(redelivery, **PLACE), {"MORE": "x"})
    assert noted.messages.total == 1
