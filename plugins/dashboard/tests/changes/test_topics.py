"""Topics that are made, changed and deleted in a browser."""

from __future__ import annotations

from mqframe import Message, Producer


def test_a_topic_is_created_changed_and_deleted(boss, boss_admin, boss_access):
    answer = boss.fill_in("/topic-create", {}, name="parcels", queues="3", perm="6", type="FIFO")
    assert "Topic parcels was created" in answer.text, answer.text
    config = boss_admin.topics.config("parcels")["broker-a"]
    assert (config.read_queue_nums, config.perm) == (3, 6)
    assert "topic-change?name=parcels" in boss.browser.page("/topic", name="parcels")
    answer = boss.fill_in(
        "/topic-change", {"name": "parcels"}, read_queues="3", write_queues="2", perm="4", broker=""
    )
    assert "Topic parcels was changed" in answer.text, answer.text
    config = boss_admin.topics.config("parcels")["broker-a"]
    assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (3, 2, 4)
    boss.fill_in("/topic-change", {"name": "parcels"}, read_queues="3", write_queues="3", perm="6")
    with Producer(group="shop", **boss_access) as producer:
        producer.send(Message("parcels", b"one"))
    assert "1 messages in" in boss.browser.page("/topic-delete", name="parcels")
    answer = boss.fill_in("/topic-delete", {"name": "parcels"}, confirm="parcel")
    assert answer.status_code == 400
    assert "nothing was done" in answer.text
    assert "parcels" in boss_admin.topics.list()
    answer = boss.fill_in("/topic-delete", {"name": "parcels"}, confirm="parcels")
    assert "Topic parcels was deleted" in answer.text
    assert "1 messages in" in answer.text
    assert "parcels" not in boss_admin.topics.list()


def test_what_makes_no_sense_is_refused_and_named(boss, boss_admin):
    boss_admin.topics.create("orders", queues=1)
    for path, query, values, said in (
        ("/topic-create", {}, {"name": "orders", "queues": "1", "perm": "6"}, "there is a topic orders"),
        ("/topic-create", {}, {"name": "new", "queues": "0", "perm": "6"}, "from 1 to 65535"),
        ("/topic-create", {}, {"name": "new", "queues": "many", "perm": "6"}, "from 1 to 65535"),
        ("/topic-create", {}, {"name": "new", "queues": "1", "perm": "7"}, "none of 6, 4, 2"),
        ("/topic-create", {}, {"name": "new", "queues": "1", "perm": "6", "type": "ODD"}, "none of NORMAL"),
        ("/topic-create", {}, {"name": "<b>", "queues": "1", "perm": "6"}, "&lt;b&gt;"),
        (
            "/topic-change",
            {"name": "orders"},
            {"read_queues": "1", "write_queues": "1", "perm": "6", "broker": "other"},
            "does not hold topic orders",
        ),
    ):
        answer = boss.fill_in(path, query, **values)
        assert answer.status_code == 400, answer.text
        assert said in answer.text
        assert "<b>" not in answer.text
    assert "new" not in boss_admin.topics.list()
    assert boss.browser.get("/topic-delete", name="none").status_code == 404
