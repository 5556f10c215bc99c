"""`mqframe topic drain` against a running server."""

from __future__ import annotations

from command_runs import read, run

from mqframe import Admin, Message, MessageQueue, Producer, Puller


def backlog(at: str, topic: str, group: str) -> None:
    """30 messages of three keys in two queues, and as many without a key; 10 of a queue are consumed."""
    run("topic", "create", topic, "--queues", "2")
    run("group", "create", group)
    with Producer("shop", nameserver=at) as producer:
        for number in range(30):
            body, key = b"%d" % number, f"customer-{number % 3}"
            producer.send(Message(topic, body, tag="paid", keys=[key, f"o-{number}"]), sharding_key=key)
            producer.send(Message(topic, b"none", properties={"colour": "red"}))


def stored(at: str, topic: str) -> dict[MessageQueue, list]:
    with Puller(nameserver=at) as puller:
        found = {}
        for queue in puller.queues(topic):
            offset, messages = 0, []
            while offset < puller.max_offset(queue):
                result = puller.pull(queue, offset, 32)
                messages += result.messages
                offset = result.next_offset
            found[queue] = messages
        return found


def test_a_backlog_goes_to_more_queues_in_the_order_of_its_keys(at: str) -> None:
    backlog(at, "cli-drain", "cli-drainers")
    old = {each.message_id: each for messages in stored(at, "cli-drain").values() for each in messages}
    words = ("topic", "drain", "cli-drain", "--group", "cli-drainers", "--to", "cli-wide", "--queues", "8")
    told = read(*words, "--order", "key")
    assert told == {"topic": "cli-drain", "group": "cli-drainers", "to": "cli-wide", "forwarded": 60}
    new = stored(at, "cli-wide")
    assert len(new) == 8
    copies = [each for messages in new.values() for each in messages]
    assert {each.message_id for each in copies} == old.keys()
    assert len(copies) == 60
    for copy in copies:
        origin = old[copy.message_id]
        assert (copy.body, copy.tag, copy.keys) == (origin.body, origin.tag, origin.keys)
        assert copy.properties.get("colour") == origin.properties.get("colour")
        assert copy.properties["MQFRAME_FORWARDED_FROM"] == (
            f"cli-drain@broker-a:{origin.queue_id}:{origin.queue_offset}"
        )
    for key in range(3):
        places = {
            queue: [int(each.body) for each in messages if f"customer-{key}" in each.keys]
            for queue, messages in new.items()
        }
        (in_order,) = [numbers for numbers in places.values() if numbers]
        assert in_order == list(range(key, 30, 3))
    with Admin(nameserver=at) as admin:
        assert admin.groups.lag("cli-drainers", "cli-drain") == 0


def test_a_second_run_forwards_what_came_since(at: str) -> None:
    backlog(at, "cli-again", "cli-again-g")
    words = (
        "topic",
        "drain",
        "cli-again",
        "--group",
        "cli-again-g",
        "--to",
        "cli-again-wide",
        "--tag",
        "paid",
    )
    assert read(*words)["forwarded"] == 30
    run("message", "send", "cli-again", "late", "--tag", "paid")
    assert read(*words)["forwarded"] == 1
    bodies = [each.body for messages in stored(at, "cli-again-wide").values() for each in messages]
    assert sorted(bodies) == sorted([*(b"%d" % number for number in range(30)), b"late"])


def test_wrong_names_are_refused_and_make_no_topic(at: str) -> None:
    run("topic", "create", "cli-narrow", "--queues", "1")
    assert run("topic", "drain", "cli-narrow", "--group", "nobody", "--to", "cli-made", code=2) == ""
    assert run("topic", "drain", "cli-narrow", "--group", "g", "--to", "cli-narrow", code=2) == ""
    assert "cli-made" not in [row["topic"] for row in read("topic", "list")]
