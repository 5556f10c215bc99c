import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_admin.rules.retry_waits import listed_waits
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.send_checks import SendLimits
from mqframe_grpc.rules.settings import attempts_max, request_timeout_ms, retry_delay_ms, settings_for
from mqframe_grpc.rules.times import duration, duration_ms

from mqframe.core.consuming.group_config import (
    CustomizedRetryPolicy,
    ExponentialRetryPolicy,
    GroupRetryPolicy,
    SubscriptionGroupConfig,
)
from mqframe.core.retry.redelivery import DELAY_MS_MAX

LIMITS = SendLimits()
# The levels, from the first on.
USUAL = [1, 5, 10, 30, *range(60, 601, 60), 1200, 1800, 3600, 7200]
HOURS_12 = 12 * 3600 * 1000


def told(
    sent: m.Settings,
    group: SubscriptionGroupConfig | None = None,
    *,
    check_types: bool = True,
    invisible_max_ms: int = HOURS_12,
) -> m.Settings:
    return settings_for(
        sent, group, LIMITS, 32, 20_000, check_types=check_types, invisible_max_ms=invisible_max_ms
    )


def producer(*topics: str) -> m.Settings:
    return m.Settings(
        client_type=m.ClientType.PRODUCER,
        request_timeout=m.Duration(seconds=3),
        publishing=m.Publishing(topics=[m.Resource(name=topic) for topic in topics]),
        user_agent=m.UA(language=m.Language.JAVA, version="5.2.0"),
    )


def consumer(topic: str = "orders", expression: str = "*", group: str = "g", type: int = 1) -> m.Settings:
    wanted = m.FilterExpression(type=type, expression=expression)
    return m.Settings(
        client_type=m.ClientType.PUSH_CONSUMER,
        subscription=m.Subscription(
            group=m.Resource(name=group),
            subscriptions=[m.SubscriptionEntry(topic=m.Resource(name=topic), expression=wanted)],
        ),
    )


def waits(settings: m.Settings) -> list[float]:
    return [duration_ms(each) / 1000 for each in settings.backoff_policy.customized_backoff.next]


def config(policy: GroupRetryPolicy | None = None, **fields: object) -> SubscriptionGroupConfig:
    return SubscriptionGroupConfig("g", group_retry_policy=policy or GroupRetryPolicy(), **fields)  # type: ignore[arg-type]


def test_producers_are_told_how_to_try_again_and_what_is_too_large() -> None:
    expected = producer("orders", "bills")
    expected.publishing.max_body_size = 4 * 1024 * 1024
    expected.publishing.validate_message_type = True
    expected.metric.CopyFrom(m.Metric(on=False))
    expected.backoff_policy.CopyFrom(
        m.RetryPolicy(
            max_attempts=3,
            exponential_backoff=m.ExponentialBackoff(initial=duration(10), max=duration(1000), multiplier=2),
        )
    )
    assert told(producer("orders", "bills")) == expected
    assert told(expected) == expected


def test_producers_need_no_topics_and_need_not_check_types() -> None:
    found = told(producer(), check_types=False)
    assert list(found.publishing.topics) == []
    assert found.publishing.validate_message_type is False


def test_what_was_sent_stays_as_it_was() -> None:
    sent = consumer()
    told(sent)
    assert sent == consumer()


def test_consumers_of_a_new_group_get_what_a_new_group_has() -> None:
    found = told(consumer())
    assert waits(found) == USUAL
    assert found.backoff_policy.max_attempts == 17
    subscription = found.subscription
    assert (subscription.fifo, subscription.receive_batch_size) == (False, 32)
    assert duration_ms(subscription.long_polling_timeout) == 20_000
    assert all(subscription.HasField(n) for n in ("fifo", "receive_batch_size", "long_polling_timeout"))
    assert subscription.subscriptions == consumer().subscription.subscriptions
    assert (found.HasField("metric"), found.metric.on) == (True, False)
    assert told(consumer(), config()) == found


def own_values() -> m.Settings:
    sent = consumer()
    sent.subscription.fifo = True
    sent.subscription.receive_batch_size = 7
    sent.subscription.long_polling_timeout.CopyFrom(duration(9_000))
    sent.backoff_policy.CopyFrom(
        m.RetryPolicy(max_attempts=4, customized_backoff=m.CustomizedBackoff(next=[duration(77)]))
    )
    sent.metric.CopyFrom(m.Metric(on=True))
    return sent


def test_without_a_group_the_client_decides() -> None:
    found = told(own_values())
    assert found.subscription == own_values().subscription
    assert (found.backoff_policy.max_attempts, waits(found)) == (4, [0.077])
    assert found.metric == m.Metric(on=False)


def test_a_group_that_is_there_decides() -> None:
    group = config(listed_waits([2_000, 3_000]), consume_message_orderly=False, retry_max_times=5)
    found = told(own_values(), group)
    assert (found.subscription.fifo, found.subscription.receive_batch_size) == (False, 32)
    assert duration_ms(found.subscription.long_polling_timeout) == 20_000
    assert found.backoff_policy.max_attempts == 6
    # Remoting clients never use the first two.
    assert waits(found) == [2, 2, 2, 3]


def test_groups_that_consume_in_order_say_so() -> None:
    assert told(consumer(), config(consume_message_orderly=True)).subscription.fifo is True


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (ExponentialRetryPolicy(1_000, 60_000, 3), (1_000, 60_000, 3.0)),
        (None, (5_000, 7_200_000, 2.0)),
        (ExponentialRetryPolicy(5_000, DELAY_MS_MAX, 2), (5_000, HOURS_12, 2.0)),
        (ExponentialRetryPolicy(DELAY_MS_MAX, DELAY_MS_MAX, 1), (HOURS_12, HOURS_12, 1.0)),
        (ExponentialRetryPolicy(-1, 0, -2), (1, 1, 1.0)),
    ],
)
def test_exponential_policies(
    policy: ExponentialRetryPolicy | None, expected: tuple[int, int, float]
) -> None:
    found = told(consumer(), config(GroupRetryPolicy("EXPONENTIAL", None, policy))).backoff_policy
    assert found.WhichOneof("strategy") == "exponential_backoff"
    grows = found.exponential_backoff
    assert (duration_ms(grows.initial), duration_ms(grows.max), grows.multiplier) == expected


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (GroupRetryPolicy(), USUAL),
        (GroupRetryPolicy("CUSTOMIZED", CustomizedRetryPolicy([])), USUAL),
        (
            GroupRetryPolicy("CUSTOMIZED", CustomizedRetryPolicy([1, 2_500, 30 * HOURS_12])),
            [0.001, 2.5, 43_200],
        ),
        (GroupRetryPolicy("CUSTOMIZED", CustomizedRetryPolicy([0, -7])), [0.001, 0.001]),
        (GroupRetryPolicy("SOMETHING"), USUAL),
        (GroupRetryPolicy("CUSTOMIZED", None, ExponentialRetryPolicy()), USUAL),
    ],
)
def test_listed_policies(policy: GroupRetryPolicy, expected: list[float]) -> None:
    assert waits(told(consumer(), config(policy))) == expected


def test_no_wait_is_longer_than_a_message_can_be_hidden() -> None:
    found = told(consumer(), config(), invisible_max_ms=600_000)
    assert max(waits(found)) == 600
    assert retry_delay_ms(config(), 16, 600_000) == 600_000


def test_a_consumer_that_says_it_has_a_policy_without_waits_gets_the_usual_ones() -> None:
    sent = consumer()
    sent.backoff_policy.customized_backoff.CopyFrom(m.CustomizedBackoff())
    assert (waits(told(sent)), told(sent).backoff_policy.max_attempts) == (USUAL, 17)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (m.Settings(), m.Code.BAD_REQUEST),
        (producer("orders", "no blanks"), m.Code.ILLEGAL_TOPIC),
        (producer("RMQ_SYS_TRANS_HALF_TOPIC"), m.Code.ILLEGAL_TOPIC),
        (consumer(topic=""), m.Code.ILLEGAL_TOPIC),
        (consumer(group="a.b"), m.Code.ILLEGAL_CONSUMER_GROUP),
        (m.Settings(subscription=m.Subscription()), m.Code.ILLEGAL_CONSUMER_GROUP),
        (consumer(expression="||"), m.Code.ILLEGAL_FILTER_EXPRESSION),
        (consumer(expression=" ", type=m.FilterType.SQL), m.Code.ILLEGAL_FILTER_EXPRESSION),
        (m.Settings(client_properties={"": "x"}), m.Code.INVALID_CLIENT_PROPERTIES),
        (m.Settings(client_properties={"n" * 65: "x"}), m.Code.INVALID_CLIENT_PROPERTIES),
        (m.Settings(client_properties={"app": "x" * 257}), m.Code.INVALID_CLIENT_PROPERTIES),
        (m.Settings(client_properties={f"n{n}": "x" for n in range(33)}), m.Code.INVALID_CLIENT_PROPERTIES),
        (
            m.Settings(client_properties={f"n{n}": "ä" * 64 for n in range(32)}),
            m.Code.INVALID_CLIENT_PROPERTIES,
        ),
    ],
)
def test_what_is_malformed_is_refused(sent: m.Settings, code: m.Code) -> None:
    with pytest.raises(Rejected) as caught:
        told(sent)
    assert caught.value.code is code


def test_properties_of_clients_come_back() -> None:
    sent = producer()
    sent.client_properties.update({"app.name": "shop", "empty": "", "z" * 64: "x" * 256})
    assert told(sent).client_properties == sent.client_properties


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        (None, 17),
        (config(), 17),
        (config(retry_max_times=0), 1),
        (config(retry_max_times=-1), 1),
        (config(retry_max_times=2**31 - 1), 2**31 - 1),
    ],
)
def test_attempts(group: SubscriptionGroupConfig | None, expected: int) -> None:
    assert attempts_max(group) == expected
    assert told(consumer(), group).backoff_policy.max_attempts == expected


@pytest.mark.parametrize(
    ("group", "times", "expected"),
    [
        (None, 0, 10_000),
        (config(), 1, 30_000),
        (config(), 99, 7_200_000),
        (config(listed_waits([2_000, 3_000])), 0, 2_000),
        (config(listed_waits([2_000, 3_000])), 7, 3_000),
        (config(GroupRetryPolicy("EXPONENTIAL", None, ExponentialRetryPolicy(1_000, 60_000, 3))), 2, 9_000),
        (config(listed_waits([DELAY_MS_MAX])), 0, HOURS_12),
    ],
)
def test_the_wait_before_the_next_delivery(
    group: SubscriptionGroupConfig | None, times: int, expected: int
) -> None:
    assert retry_delay_ms(group, times) == expected


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (None, 3_000),
        (m.Settings(), 3_000),
        (m.Settings(request_timeout=m.Duration(seconds=-1)), 3_000),
        (m.Settings(request_timeout=m.Duration(seconds=7, nanos=500_000_000)), 7_500),
    ],
)
def test_how_long_a_client_waits(sent: m.Settings | None, expected: int) -> None:
    assert request_timeout_ms(sent) == expected


INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
words = st.one_of(st.text(max_size=20), st.sampled_from(["orders", "%DLQ%g", "TBW102", "*", "a || b"]))
resources = st.builds(m.Resource, name=words, resource_namespace=words)
durations = st.builds(m.Duration, seconds=INT64, nanos=INT32)
filters = st.builds(m.FilterExpression, type=st.integers(0, 3), expression=words)
entries = st.builds(m.SubscriptionEntry, topic=resources, expression=filters)
policies = st.one_of(
    st.none(),
    st.builds(
        m.RetryPolicy,
        max_attempts=INT32,
        customized_backoff=st.builds(m.CustomizedBackoff, next=st.lists(durations, max_size=3)),
    ),
    st.builds(
        m.RetryPolicy,
        max_attempts=INT32,
        exponential_backoff=st.builds(m.ExponentialBackoff, initial=durations),
    ),
)
sent_settings = st.one_of(
    st.builds(
        m.Settings,
        client_type=st.integers(0, 9),
        publishing=st.builds(m.Publishing, topics=st.lists(resources, max_size=3), max_body_size=INT32),
        backoff_policy=policies,
        client_properties=st.dictionaries(words, words, max_size=3),
    ),
    st.builds(
        m.Settings,
        subscription=st.builds(
            m.Subscription,
            group=resources,
            subscriptions=st.lists(entries, max_size=3),
            receive_batch_size=st.one_of(st.none(), INT32),
            long_polling_timeout=st.one_of(st.none(), durations),
        ),
        request_timeout=durations,
        backoff_policy=policies,
    ),
)
listed = st.builds(CustomizedRetryPolicy, st.lists(INT64, max_size=4))
groups = st.one_of(
    st.none(),
    st.builds(
        config,
        st.builds(
            GroupRetryPolicy,
            st.sampled_from(["CUSTOMIZED", "EXPONENTIAL", "?"]),
            st.one_of(st.none(), listed),
            st.one_of(st.none(), st.builds(ExponentialRetryPolicy, INT64, INT64, INT64)),
        ),
        retry_max_times=INT64,
    ),
)


@given(sent_settings, groups)
def test_any_settings_are_answered_or_refused(
    sent: m.Settings, group: SubscriptionGroupConfig | None
) -> None:
    try:
        found = told(sent, group)
    except Rejected as problem:
        found, code = None, problem.code
    if found is None:
        assert 40_000 <= code < 50_000
        return
    assert m.Settings.FromString(found.SerializeToString()) == found
    assert found.backoff_policy.WhichOneof("strategy") is not None
    assert found.backoff_policy.max_attempts > 0
    if group is not None and found.HasField("subscription"):
        for each in waits(found):
            assert 0.001 <= each <= 43_200


@given(groups, INT32)
def test_any_group_waits_before_the_next_delivery(group: SubscriptionGroupConfig | None, times: int) -> None:
    assert 1 <= retry_delay_ms(group, times) <= HOURS_12
