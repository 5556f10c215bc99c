"""Looking messages up by id and key."""

import pytest

from mqframe import Message
from mqframe.core.errors import FixError


def test_look_up(admin, producer):
    admin.topics.create("looked", queues=2)
    results = [producer.send(Message("looked", b"%d" % n, keys=[f"k{n}", "all"])) for n in range(6)]
    found = admin.messages.by_unique_key("looked", results[2].message_id)
    assert found is not None
    assert (found.body, found.queue) == (b"2", results[2].queue)
    assert admin.messages.by_unique_key("looked", "0" * 32) is None
    assert {m.body for m in admin.messages.query("looked", "all")} == {b"%d" % n for n in range(6)}
    assert len(admin.messages.query("looked", "all", max_count=2)) == 2
    assert [m.body for m in admin.messages.query("looked", "k4")] == [b"4"]
    assert admin.messages.query("looked", "nothing") == []
    with pytest.raises(FixError, match="message id"):
        admin.messages.by_id("short")
