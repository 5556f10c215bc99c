"""What a push consumer was made with."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import attrs

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.consuming.group.plan import GroupPlan
from mqframe.client.consuming.group.subscriptions import SubscriptionTable
from mqframe.client.consuming.push.consume_call import ListenerCaller
from mqframe.client.consuming.push.listener import ListenedTopic
from mqframe.hooks.codecs import Codecs


@attrs.frozen(kw_only=True)
class ConsumerPlan(GroupPlan):
    """`persist_seconds`: how often offsets are saved; `codecs`: for typed handlers; `ordered`: the messages
    of a queue are consumed one batch after the other; `caller`: makes what calls listeners."""

    consume_type: ClassVar[str] = "CONSUME_PASSIVELY"

    settings: ConsumerSettings
    subscriptions: SubscriptionTable[ListenedTopic]
    persist_seconds: float
    codecs: Codecs
    ordered: bool = False
    caller: Callable[..., ListenerCaller] = ListenerCaller
