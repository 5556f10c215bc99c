"""Settings of consumer groups: JSON bodies, and `config/subscriptionGroup.json` (wire.md §4, store.md §5)."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from mqframe.core.parameters import Since
from mqframe.core.wire.bodies import Body, DataVersion


class CustomizedRetryPolicy(Body):
    """Waits one after the other, ms. The first two are never used (CustomizedRetryPolicy.java)."""

    next: list[int] = []


class ExponentialRetryPolicy(Body):
    """Waits that grow from `initial` by `multiplier` up to `max`, ms."""

    initial: int = 5_000
    max: int = 7_200_000
    multiplier: int = 2


class GroupRetryPolicy(Body, gc=False):
    """How long a group waits before it tries a message again. `type`: CUSTOMIZED or EXPONENTIAL."""

    type: str = "CUSTOMIZED"
    customized_retry_policy: CustomizedRetryPolicy | None = None
    exponential_retry_policy: ExponentialRetryPolicy | None = None


class SubscriptionGroupConfig(Body, gc=False):
    """Configuration of one consumer group."""

    group_name: str
    attributes: Annotated[dict[str, str], Since("5.1.3")] = {}
    broker_id: int = 0
    consume_broadcast_enable: bool = True
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_message_orderly: Annotated[bool, Since("5.0.0")] = False
    consume_timeout_minute: Annotated[int, Since("5.0.0")] = 15
    group_retry_policy: Annotated[GroupRetryPolicy, Since("5.0.0")] = msgspec.field(
        default_factory=GroupRetryPolicy
    )
    group_sys_flag: Annotated[int, Since("5.0.0")] = 0
    notify_consumer_ids_changed_enable: bool = True
    retry_max_times: int = 16
    retry_queue_nums: int = 1
    subscription_data_set: Annotated[list[dict[str, Any]] | None, Since("5.1.1")] = None
    which_broker_when_consume_slowly: int = 1


class SubscriptionGroupTable(Body):
    """All groups of a broker: `config/subscriptionGroup.json`."""

    data_version: DataVersion = msgspec.field(default_factory=DataVersion)
    forbidden_table: dict[str, dict[str, int]] = {}
    subscription_group_table: dict[str, SubscriptionGroupConfig] = {}


RETRY_QUEUES_MAX: Final = 65_535
"""Most queues of a group's retry topic on one broker, as of any topic."""


def retry_queues(group: SubscriptionGroupConfig) -> int:
    """How many queues the retry topic of `group` is made with; 0: it wants nothing again.

    A group may be stored with a number from before that was checked, or from another broker.
    """
    return min(max(group.retry_queue_nums, 0), RETRY_QUEUES_MAX)
