"""Settings: what clients say of themselves over Telemetry, and what they are told to do.

Source: GrpcClientSettingsManager.java, ClientActivity.java.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from mqframe.core.consuming.group_config import (
    CustomizedRetryPolicy,
    ExponentialRetryPolicy,
    SubscriptionGroupConfig,
)
from mqframe.core.delay.levels import USUAL_DELAYS
from mqframe.core.retry.policy import RETRIES_MAX
from mqframe.core.retry.redelivery import FIRST_LEVEL, retry_schedule, retry_wait
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.membership import choice_of
from mqframe_grpc.rules.names import group_name, topic_name
from mqframe_grpc.rules.receives import ReceiveLimits
from mqframe_grpc.rules.send_checks import SendLimits
from mqframe_grpc.rules.times import duration, duration_ms

SEND_ATTEMPTS_MAX: Final = 3
SEND_BACKOFF_MS: Final = 10
SEND_BACKOFF_MAX_MS: Final = 1_000
SEND_BACKOFF_MULTIPLIER: Final = 2.0
REQUEST_TIMEOUT_MS: Final = 3_000
"""How long clients wait for an answer where they do not say it."""
CLIENT_PROPERTIES_MAX: Final = 32
CLIENT_PROPERTIES_BYTES_MAX: Final = 4096
VALUE_CHARACTERS_MAX: Final = 256
_PROPERTY_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_.-]{0,63}").fullmatch
_SHOWN_CHARACTERS: Final = 64
_MS_MAX: Final = 315_576_000_000 * 1000
"""Longest duration of the protocol, ms."""
_INT_MAX: Final = (1 << 31) - 1
_INVISIBLE_MAX_MS: Final = ReceiveLimits().invisible_max_ms


def settings_for(
    sent: m.Settings,
    group: SubscriptionGroupConfig | None,
    limits: SendLimits,
    batch: int,
    polling_ms: int,
    *,
    check_types: bool = True,
    invisible_max_ms: int = _INVISIBLE_MAX_MS,
) -> m.Settings:
    """What a client that sent `sent` is answered: the same, but for what the server decides.

    `group`: the consumer's, `None` where there is none yet: then a new group's configuration counts, where
    the client does not say otherwise; `batch`, `polling_ms`: how many messages consumers ask for at once, and
    how long they wait for them; `check_types`: whether producers compare messages with the types of topics;
    `invisible_max_ms`: for how long a message can be hidden, and so wait for its retry. Raises `Rejected`:
    BAD_REQUEST for neither a producer's nor a consumer's settings, ILLEGAL_TOPIC, ILLEGAL_CONSUMER_GROUP,
    ILLEGAL_FILTER_EXPRESSION, INVALID_CLIENT_PROPERTIES.

    A consumer is always told how to wait before a retry, as its group is configured; Java's fails without.
    Python's (5.1.2) knows listed waits only, Node's (1.0.8) exponential ones only: their groups are to be
    configured so.
    """
    _check(sent)
    told = m.Settings()
    told.CopyFrom(sent)
    told.metric.CopyFrom(m.Metric(on=False))
    if sent.HasField("publishing"):
        told.publishing.max_body_size = limits.body_bytes_max
        told.publishing.validate_message_type = check_types
        told.backoff_policy.CopyFrom(
            _exponential(SEND_ATTEMPTS_MAX, SEND_BACKOFF_MS, SEND_BACKOFF_MAX_MS, SEND_BACKOFF_MULTIPLIER)
        )
        return told
    of_group = _retries(group, invisible_max_ms)
    said, consumes = sent.subscription, told.subscription
    own = sent.backoff_policy
    if group is not None or not _has_strategy(own):
        told.backoff_policy.CopyFrom(of_group)
    if group is None and own.max_attempts > 0:
        told.backoff_policy.max_attempts = own.max_attempts
    elif group is None:
        told.backoff_policy.max_attempts = of_group.max_attempts
    if group is not None or not said.HasField("fifo"):
        consumes.fifo = group is not None and group.consume_message_orderly
    if group is not None or not said.HasField("receive_batch_size"):
        consumes.receive_batch_size = batch
    if group is not None or not said.HasField("long_polling_timeout"):
        consumes.long_polling_timeout.CopyFrom(duration(polling_ms))
    return told


def request_timeout_ms(sent: m.Settings | None) -> int:
    """How long a client with these settings waits for an answer, ms."""
    wait = 0 if sent is None else duration_ms(sent.request_timeout)
    return wait if wait > 0 else REQUEST_TIMEOUT_MS


def attempts_max(group: SubscriptionGroupConfig | None) -> int:
    """How often a message is delivered to `group` until it is a dead letter; `None`: to a new group."""
    retries = RETRIES_MAX if group is None else group.retry_max_times
    return min(max(retries, 0), _INT_MAX - 1) + 1


def retry_delay_ms(
    group: SubscriptionGroupConfig | None,
    reconsume_times: int,
    invisible_max_ms: int = _INVISIBLE_MAX_MS,
) -> int:
    """How long `group` waits before it gets a message again that came back `reconsume_times` times, ms."""
    schedule = None if group is None else retry_schedule(group.group_retry_policy)
    wait = retry_wait(schedule or USUAL_DELAYS[FIRST_LEVEL - 1 :], reconsume_times)
    return min(wait, invisible_max_ms)


def _check(sent: m.Settings) -> None:
    _check_client_properties(sent.client_properties)
    if sent.HasField("publishing"):
        for topic in sent.publishing.topics:
            topic_name(topic)
    elif sent.HasField("subscription"):
        group_name(sent.subscription.group)
        for entry in sent.subscription.subscriptions:
            topic_name(entry.topic)
            choice_of(entry.expression)
    else:
        raise Rejected(m.Code.BAD_REQUEST, "settings have neither publishing nor subscription")


def _retries(group: SubscriptionGroupConfig | None, wait_max_ms: int) -> m.RetryPolicy:
    """The policy of `group`, whose waits clients look up by attempt, from the first on: the two that no retry
    of a remoting client uses count here."""
    attempts = attempts_max(group)
    policy = None if group is None else group.group_retry_policy
    if policy is not None and policy.type == "EXPONENTIAL":
        grows = policy.exponential_retry_policy or ExponentialRetryPolicy()
        most = _wait_ms(grows.max, wait_max_ms)
        # A longer wait would be refused when the client asks for it, again and again.
        return _exponential(attempts, _wait_ms(grows.initial, most), most, max(float(grows.multiplier), 1.0))
    listed = policy.customized_retry_policy if policy is not None else None
    waits = (listed or CustomizedRetryPolicy()).next or USUAL_DELAYS
    backoff = m.CustomizedBackoff(next=[duration(_wait_ms(wait, wait_max_ms)) for wait in waits])
    return m.RetryPolicy(max_attempts=attempts, customized_backoff=backoff)


def _exponential(attempts: int, initial_ms: int, max_ms: int, multiplier: float) -> m.RetryPolicy:
    return m.RetryPolicy(
        max_attempts=attempts,
        exponential_backoff=m.ExponentialBackoff(
            initial=duration(initial_ms), max=duration(max_ms), multiplier=multiplier
        ),
    )


def _wait_ms(wait: int, most_ms: int) -> int:
    return min(max(wait, 1), most_ms, _MS_MAX)


def _has_strategy(policy: m.RetryPolicy) -> bool:
    if policy.WhichOneof("strategy") == "customized_backoff":
        return len(policy.customized_backoff.next) > 0
    return policy.WhichOneof("strategy") is not None


def _check_client_properties(properties: Mapping[str, str]) -> None:
    def refuse(what: str) -> Rejected:
        return Rejected(m.Code.INVALID_CLIENT_PROPERTIES, f"client properties: {what}")

    if len(properties) > CLIENT_PROPERTIES_MAX:
        raise refuse(f"there are {len(properties)}, {CLIENT_PROPERTIES_MAX} are allowed")
    size = 0
    for name, value in properties.items():
        if _PROPERTY_NAME(name) is None:
            raise refuse(
                f"{name[:_SHOWN_CHARACTERS]!r} is no name: write a letter, and up to 63 more letters, digits,"
                " _ . and -"
            )
        if len(value) > VALUE_CHARACTERS_MAX:
            raise refuse(f"{name} has {len(value)} characters, {VALUE_CHARACTERS_MAX} are allowed")
        size += len(name) + len(value.encode())
    if size > CLIENT_PROPERTIES_BYTES_MAX:
        raise refuse(f"they have {size} bytes together, {CLIENT_PROPERTIES_BYTES_MAX} are allowed")
