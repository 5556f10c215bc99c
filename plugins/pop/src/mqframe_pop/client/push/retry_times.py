"""When a message comes again that a push consumer popped and failed at, and how often."""

from __future__ import annotations

from typing import Final

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.push.plan import ConsumerPlan
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.delay.levels import USUAL_DELAYS
from mqframe.core.errors import AnswerError, MqframeError
from mqframe.core.requests.admin import GetSubscriptionGroupConfig
from mqframe.core.retry.backoff import suspend_seconds
from mqframe.core.retry.redelivery import ordered_interval, retry_level, retry_schedule, retry_wait
from mqframe.core.wire.loose_json import decode
from mqframe.log import get_logger

log = get_logger("client")

REFRESH_SECONDS: Final = 60.0


class RetryTimes:
    """By the delay levels, or the retry policy of the group, which is asked for again once a minute.

    The levels are the usual ones: clients do not know a broker's own (`messageDelayLevel`). `returns_max`:
    how often one comes again, by the consumer's settings or else by the group; `None` where neither says it.
    """

    def __init__(self, plan: ConsumerPlan) -> None:
        self._plan = plan
        self._schedule: tuple[int, ...] | None = None
        self._ordered_ms = plan.settings.suspend_current_queue_time_millis
        self._asked: float | None = None
        self.returns_max = plan.settings.returns_max

    def seconds(self, reconsume_times: int, level: int, pause_ms: float | None = None) -> float:
        """The wait of a message that came back so often. `level`: what the listener asks for; 0: nothing.

        `pause_ms`: the same in order, where levels do not count; `None` and -1: nothing.
        """
        if self._plan.ordered:
            said = pause_ms is not None and pause_ms != -1
            return suspend_seconds(pause_ms, 0) if said else self._ordered_ms / 1000
        if level <= 0 and self._schedule is not None:
            return retry_wait(self._schedule, reconsume_times) / 1000
        level = level if level > 0 else retry_level(reconsume_times)
        return USUAL_DELAYS[min(level, len(USUAL_DELAYS)) - 1] / 1000

    async def refresh(self, instance: ClientInstance) -> None:
        """Ask a broker for the group's policy, unless that was done just now."""
        now = self._plan.clock.monotonic()
        if self._asked is not None and now - self._asked < REFRESH_SECONDS:
            return
        group = self._plan.group
        for address in instance.broker_versions:
            try:
                answer = await instance.call(address, GetSubscriptionGroupConfig(group))
                config = decode(memoryview(answer.body), SubscriptionGroupConfig)
            except AnswerError:
                pass  # it knows no such thing
            except MqframeError as problem:
                log.info("retry policy was not read", group=group, broker=address, reason=str(problem))
                continue
            else:
                self._schedule = retry_schedule(config.group_retry_policy)
                if self._plan.settings.returns_max is None:
                    self.returns_max = max(0, config.retry_max_times)
                interval = ordered_interval(config)
                self._ordered_ms = (
                    self._plan.settings.suspend_current_queue_time_millis if interval is None else interval
                )
            self._asked = now
            return
