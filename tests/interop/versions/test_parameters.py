"""Parameters of administration that each version's servers understand or not: nothing else is changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from mqframe_cli.app import app
from real_time import until
from typer.testing import CliRunner

from interop.foreign_programs import OLDER
from interop.servers import Servers
from mqframe import (
    Admin,
    ClientSettings,
    ConsumeResult,
    ConsumerSettings,
    Message,
    MessageQueue,
    Producer,
    PushConsumer,
)
from mqframe.core.consuming.group_config import GroupRetryPolicy, SubscriptionGroupConfig
from mqframe.core.errors import AnswerError, FixError

EACH = 3
"""How many messages a queue gets."""


def fill(servers: Servers, producer: Producer, topic: str) -> list[MessageQueue]:
    """The queues of `topic`, each with `EACH` messages."""
    queues = [MessageQueue(topic, servers.broker_name, number) for number in range(4)]
    for queue in queues:
        for number in range(EACH):
            producer.send(Message(topic, b"%d" % number), queue=queue)
    return queues


def another(admin: Admin, name: str) -> str:
    """A topic of four queues for one case of a test."""
    admin.topics.create(name, queues=4)
    until(lambda: name in admin.topics.list())
    return name


def consumer(servers: Servers, group: str, topic: str, seen: list[tuple[int, int]]) -> PushConsumer:
    """A member of `group` that notes queue and offset of what it gets, and commits at once."""
    client = ClientSettings(persist_offsets_seconds=0.1)
    # It hears of a reset by its next pull, and takes the queue again when queues are shared out.
    often = ConsumerSettings(pull_wait_seconds=1, rebalance_seconds=0.5)
    made = PushConsumer(
        group, nameserver=servers.nameserver, consume_from="first", settings=often, client=client
    )

    def listen(messages: list[Any], context: object) -> ConsumeResult:
        seen.extend((each.queue.queue_id, each.queue_offset) for each in messages)
        return ConsumeResult.SUCCESS

    made.subscribe(topic, "*", listen)
    return made


def progress(admin: Admin, group: str, topic: str) -> list[int]:
    """The offsets of `group`, queue by queue."""
    return [each.consumer_offset for _, each in sorted(admin.groups.stats(group, topic).items())]


@pytest.mark.proves("operation")
def test_one_queue_of_a_group_is_reset_and_no_other(
    version: str, servers: Servers, topic: str, admin: Admin, producer: Producer
) -> None:
    group, seen = f"{topic}_group", list[tuple[int, int]]()
    queues = fill(servers, producer, topic)
    with consumer(servers, group, topic, seen):
        until(lambda: len(seen) == 4 * EACH)
        until(lambda: progress(admin, group, topic) == [EACH] * 4)
        if version == OLDER:
            with pytest.raises(FixError, match=r"from Apache RocketMQ 5\.2\.0 on, .* is 4\.9\.7: stop"):
                admin.offsets.reset_queue(group, queues[1], 1)
        else:
            assert admin.offsets.reset_queue(group, queues[1], 1) == 1
            until(lambda: len(seen) == 4 * EACH + 2)
            until(lambda: progress(admin, group, topic) == [EACH] * 4)
    assert sorted(seen[4 * EACH :]) == ([] if version == OLDER else [(1, 1), (1, 2)])
    assert progress(admin, group, topic) == [EACH] * 4
    assert admin.offsets.reset_queue(group, queues[2], 0) == 0
    until(lambda: progress(admin, group, topic) == [EACH, EACH, 0, EACH])
    with consumer(servers, group, topic, seen := []):
        until(lambda: len(seen) == EACH)
        until(lambda: progress(admin, group, topic) == [EACH] * 4)
    assert sorted(seen) == [(2, 0), (2, 1), (2, 2)]


@pytest.mark.proves("operation")
def test_a_change_with_a_parameter_that_a_broker_would_pass_over_changes_nothing_there(
    version: str, servers: Servers, topic: str, admin: Admin
) -> None:
    def attempt(act: Callable[[], object], since: str) -> None:
        if version == OLDER:
            with pytest.raises(
                FixError, match=rf"from Apache RocketMQ {since} on, .* is 4\.9\.7, which would"
            ):
                act()
        else:
            act()

    group, typed = f"{topic}_group", {"message.type": "FIFO"}
    attempt(lambda: admin.topics.create(topic, queues=6, attributes=typed), "5.0.0")
    changed = admin.topics.config(topic)[servers.broker_name]
    asked = (4, {}) if version == OLDER else (6, typed)
    assert (changed.write_queue_nums, changed.attributes) == asked
    for name, value in {
        "consume_message_orderly": True,
        "consume_timeout_minute": 7,
        "group_retry_policy": GroupRetryPolicy("EXPONENTIAL"),
        "group_sys_flag": 1,
    }.items():
        config = SubscriptionGroupConfig(group, retry_max_times=3, **{name: value})
        attempt(lambda config=config: admin.groups.create(config), "5.0.0")
        assert (group in admin.groups.list()) == (version != OLDER)
    admin.groups.create(SubscriptionGroupConfig(group, retry_max_times=3))
    assert admin.groups.configs()[group].retry_max_times == 3


@pytest.mark.proves("operation")
def test_the_last_message_at_a_time_is_found_or_the_search_is_refused(
    version: str, servers: Servers, topic: str, admin: Admin, producer: Producer
) -> None:
    queue = fill(servers, producer, topic)[1]
    until(lambda: admin.offsets.max(queue) == EACH)
    assert admin.offsets.search(queue, 0) == 0
    if version == OLDER:
        with pytest.raises(FixError, match=r"boundaryType=UPPER of SearchOffsetByTimestamp .* 5\.1\.4 on"):
            admin.offsets.search(queue, 0, upper=True)
    else:
        far = int(time.time() * 1000) + 86_400_000
        assert admin.offsets.search(queue, far, upper=True) >= EACH - 1


@pytest.mark.proves("operation")
@pytest.mark.parametrize("clean", [False, True])
def test_progress_is_deleted_with_its_group_when_that_is_asked(
    servers: Servers, admin: Admin, producer: Producer, clean: bool
) -> None:
    topic = another(admin, f"of_a_deleted_group_{clean}")
    group, kept = f"{topic}_group", f"{topic}_kept"
    fill(servers, producer, topic)
    for name in (group, kept):
        admin.groups.create(name)
        with consumer(servers, name, topic, seen := list[tuple[int, int]]()):
            until(lambda seen=seen: len(seen) >= 4 * EACH)
            until(lambda name=name: progress(admin, name, topic) == [EACH] * 4)
    admin.groups.delete(group, clean_offsets=clean)
    admin.groups.create(group)
    assert progress(admin, group, topic) == [0 if clean else EACH] * 4
    assert progress(admin, kept, topic) == [EACH] * 4


@pytest.mark.proves("operation")
@pytest.mark.parametrize("online", [False, True])
def test_without_force_no_queue_moves_forward(
    servers: Servers, admin: Admin, producer: Producer, online: bool
) -> None:
    topic = another(admin, f"without_force_{online}")
    group = f"{topic}_group"
    seen: list[tuple[int, int]] = []
    queues = fill(servers, producer, topic)
    with consumer(servers, group, topic, seen):
        until(lambda: len(seen) >= 4 * EACH)
        until(lambda: progress(admin, group, topic) == [EACH] * 4)
        if online:
            assert list(admin.offsets.reset(group, topic, -1, force=False).values()) == [EACH] * 4
            assert list(admin.offsets.reset(group, topic, 0, force=False).values()) == [0] * 4
            until(lambda: len(seen) >= 8 * EACH)
            until(lambda: progress(admin, group, topic) == [EACH] * 4)
    assert admin.offsets.reset_queue(group, queues[1], 1) == 1
    until(lambda: progress(admin, group, topic) == [EACH, 1, EACH, EACH])
    assert list(admin.offsets.reset(group, topic, -1, force=False).values()) == [EACH, 1, EACH, EACH]
    until(lambda: progress(admin, group, topic) == [EACH, 1, EACH, EACH])
    with pytest.raises(AnswerError, match="unknown"):
        admin.offsets.reset("unknown", topic, 0, force=False)


@pytest.mark.proves("operation")
def test_a_topic_of_one_cluster_is_deleted_there(
    servers: Servers, topic: str, admin: Admin, producer: Producer
) -> None:
    other = f"{topic}_other"
    admin.topics.create(other, queues=1)
    until(lambda: other in admin.topics.list())
    admin.topics.delete(topic, cluster=servers.cluster)
    until(lambda: topic not in admin.topics.list())
    assert producer.send(Message(other, b"x")).queue_offset == 0


@pytest.mark.proves("operation")
@pytest.mark.parametrize(
    "words",
    [
        ["topic", "create", "of_commands", "--type", "FIFO"],
        ["mqadmin", "updateTopic", "-t", "of_commands", "-c", "CLUSTER", "-a", "+message.type=FIFO"],
        ["group", "create", "of_commands", "--ordered"],
        ["group", "create", "of_commands", "--retry-waits", "10s"],
        ["mqadmin", "updateSubGroup", "-g", "of_commands", "-c", "CLUSTER", "-o", "true"],
    ],
    ids=" ".join,
)
def test_commands_change_nothing_either_that_a_broker_would_pass_over(
    version: str, servers: Servers, admin: Admin, words: list[str]
) -> None:
    asked = [servers.cluster if word == "CLUSTER" else word for word in words]
    done = CliRunner().invoke(app, asked, env={"NAMESRV_ADDR": servers.nameserver})
    assert (done.exit_code == 0) == (version != OLDER), done.output
    if version == OLDER:
        assert "from Apache RocketMQ 5.0.0 on" in " ".join(done.stderr.split())
        assert "of_commands" not in {*admin.topics.list(), *admin.groups.list()}
