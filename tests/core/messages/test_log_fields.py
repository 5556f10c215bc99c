from __future__ import annotations

from mqframe_testing.consuming import received

from mqframe.core.messages.log_fields import SHOWN_MAX, log_fields


def test_a_message_is_named_by_all_that_finds_it() -> None:
    message = received(7, queue_id=3, UNIQ_KEY="ID7", KEYS="o-1 o-2", TAGS="paid")
    assert log_fields([message], "billing") == {
        "group": "billing", "topic": "orders", "queue": "orders/broker-a/3", "offsets": [7], "ids": ["ID7"],
        "keys": ["o-1 o-2"], "tags": ["paid"], "count": 1, "attempt": 0,
    }  # fmt: skip


def test_one_that_comes_again_is_named_by_its_topic_and_by_the_queue_where_it_lies_now() -> None:
    message = received(7, UNIQ_KEY="ID7", RETRY_TOPIC="orders")  # as listeners see it: of its own topic
    message.reconsume_times = 2
    found = log_fields([message], "billing")
    assert (found["topic"], found["queue"], found["attempt"]) == ("orders", "%RETRY%billing/broker-a/0", 2)


def test_of_many_the_first_are_named_and_all_are_counted() -> None:
    found = log_fields([received(number, UNIQ_KEY=f"ID{number}") for number in range(20)], "g")
    assert found["offsets"] == list(range(SHOWN_MAX))
    assert (found["ids"][-1], found["tags"][0], found["count"]) == ("ID7", "", 20)
