"""Which brokers administration calls."""

from typing import Any

import pytest
from old_broker import GROUP, TOPIC, administered
from request_kinds import ROCKETMQ_S

from mqframe import MessageQueue
from mqframe.core.consuming.group_config import GroupRetryPolicy, SubscriptionGroupConfig
from mqframe.core.errors import FixError, HeaderError
from mqframe.core.parameters import parameters
from mqframe.core.requests.admin import (
    DeleteSubscriptionGroup,
    DeleteTopicInBroker,
    UpdateAndCreateSubscriptionGroup,
    UpdateAndCreateTopic,
)
from mqframe.core.requests.consumers import HeartBeat, SearchOffsetByTimestamp
from mqframe.core.requests.fields import Request, decode_fields
from mqframe.core.requests.nameserver import DeleteTopicInNamesrv

QUEUE = MessageQueue(TOPIC, "broker-a", 1)
NEWER: dict[str, tuple[Any, type[Request], str, str]] = {
    # what is asked; what is not sent then; the last version that passes over it; the one that does not
    "attributes": (
        lambda a: a.topics.create("t", attributes={"message.type": "FIFO"}),
        UpdateAndCreateTopic,
        "4.9.8",
        "5.0.0",
    ),
    "upper": (lambda a: a.offsets.search(QUEUE, 0, upper=True), SearchOffsetByTimestamp, "5.1.3", "5.1.4"),
    "cluster": (
        lambda a: a.topics.delete(TOPIC, cluster="DefaultCluster"),
        DeleteTopicInBroker,
        "4.9.3",
        "4.9.4",
    ),
} | {
    name: (
        lambda a, name=name, value=value: a.groups.create(SubscriptionGroupConfig(GROUP, **{name: value})),
        UpdateAndCreateSubscriptionGroup,
        before,
        since,
    )
    for name, value, before, since in [
        ("consume_message_orderly", True, "4.9.7", "5.0.0"),
        ("consume_timeout_minute", 1, "4.9.7", "5.0.0"),
        ("group_retry_policy", GroupRetryPolicy("EXPONENTIAL"), "4.9.7", "5.0.0"),
        ("group_sys_flag", 1, "4.9.7", "5.0.0"),
        ("subscription_data_set", [{"topic": "t"}], "5.1.0", "5.1.1"),
        ("attributes", {"a": "b"}, "5.1.2", "5.1.3"),
    ]
}


@pytest.mark.parametrize(("act", "request_kind", "before", "since"), NEWER.values(), ids=NEWER)
async def test_a_call_whose_parameters_a_server_would_pass_over_sends_nothing(
    act, request_kind, before, since
):
    async with administered(before) as (admin, broker):
        with pytest.raises(FixError, match=rf"from Apache RocketMQ {since} on, .* is {before}, which"):
            await act(admin)
    assert broker.sent(request_kind) == []

    async with administered(since) as (admin, broker):
        await act(admin)
    assert len(broker.sent(request_kind)) == 1


async def test_no_broker_is_changed_when_one_of_them_would_pass_over_a_part():
    async with administered("5.3.3") as (admin, broker):
        broker.second = "4.9.7"
        with pytest.raises(FixError, match=r"10\.0\.0\.2:10911 is 4\.9\.7"):
            await admin.topics.create("t", attributes={"message.type": "FIFO"})
        assert broker.sent(UpdateAndCreateTopic) == []
        await admin.topics.create("t", attributes={"message.type": "FIFO"}, broker="broker-a")
        await admin.topics.create("t")
    assert len(broker.sent(UpdateAndCreateTopic)) == 3


async def test_what_all_versions_understand_costs_no_question_for_the_version():
    async with administered("4.9.0") as (admin, broker):
        await admin.topics.create("t", queues=4)
        await admin.groups.create(SubscriptionGroupConfig(GROUP, retry_max_times=3))
        await admin.offsets.search(QUEUE, 0)
        await admin.topics.delete(TOPIC)
    assert broker.sent(HeartBeat) == []
    assert [request.cluster_name for request in broker.sent(DeleteTopicInNamesrv)] == [None]


async def test_name_servers_that_answer_no_heartbeat_are_asked_for_their_version_another_way():
    async with administered("4.9.3") as (admin, broker):
        with pytest.raises(
            FixError, match=r"clusterName=DefaultCluster .* 10\.0\.0\.1:9876 is 4\.9\.3, which"
        ):
            await admin.topics.delete(TOPIC, cluster="DefaultCluster")
    assert broker.sent(HeartBeat) == []


async def test_servers_of_this_project_are_sent_everything():
    async with administered("4.9.7") as (admin, broker):
        broker.language = "PYTHON"
        await admin.topics.create("t", attributes={"message.type": "FIFO"})
    assert [each.attributes for each in broker.sent(UpdateAndCreateTopic)] == ["+message.type=FIFO"]


async def test_progress_goes_with_a_group_by_the_name_that_each_version_has_for_it():
    async with administered("4.9.7") as (admin, broker):
        await admin.groups.delete(GROUP, clean_offsets=True)
    [request] = broker.sent(DeleteSubscriptionGroup)
    assert (request.clean_offset, request.remove_offset) == (True, True)


ALTERING = [
    (kind, parameter)
    for kind in ROCKETMQ_S.values()
    for parameter in parameters(kind)
    if parameter.since.alters
]


@pytest.mark.parametrize(
    ("kind", "parameter"), ALTERING, ids=[f"{kind.__name__}.{each.name}" for kind, each in ALTERING]
)
async def test_no_request_goes_to_a_broker_that_would_pass_over_one_of_its_fields(kind, parameter):
    ext = dict.fromkeys(kind.__struct_encode_fields__[: -len(kind.__struct_defaults__)], "1")
    for value in ("7", "false" if True in parameter.since.idle else "true"):
        try:
            request = decode_fields(ext | {parameter.wire_name: value}, kind)
        except HeaderError:
            continue  # a switch
        break

    async with administered("4.9.0") as (admin, broker):
        with pytest.raises(FixError, match=f"{parameter.wire_name}=.* of {kind.__name__} is understood from"):
            await admin.brokers.call("broker-a", request)
    assert broker.sent(kind) == []
