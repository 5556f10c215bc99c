"""The settings of the broker service `pop`."""

from __future__ import annotations

from mqframe.core.config.settings import at_least, setting, settings, within


@settings("pop")
class PopSettings:
    """How messages are popped: handed out one by one, and kept for whoever acknowledges them."""

    retry_percent: int = setting(
        20,
        doc="of 100 pops, so many look for messages to be tried again first, the others last",
        check=within(0, 100),
        conf="popFromRetryProbability",
        live=True,
        was="broker.pop_retry_percent",
    )
    retry_topic_v2: bool = setting(
        False,
        doc="popped messages to be tried again go to %RETRY%group+topic, not to %RETRY%group_topic",
        conf="enableRetryTopicV2",
        live=True,
        was="broker.pop_retry_topic_v2",
    )
    waiting_max: int = setting(
        100_000,
        doc="most pops that wait for messages",
        check=at_least(1),
        conf="maxPopPollingSize",
        live=True,
        was="broker.pop_waiting_max",
    )
    waiting_queue_max: int = setting(
        1024,
        doc="most pops of one group that wait at one queue, or at any of a topic",
        check=at_least(1),
        conf="popPollingSize",
        live=True,
        was="broker.pop_waiting_queue_max",
    )
    stay_ms: int = setting(
        10_000,
        doc="what was popped and not acknowledged for so long is written to the log, ms",
        check=at_least(1),
        conf="popCkStayBufferTime",
        was="broker.pop_stay_ms",
    )
    out_max: int = setting(
        100_000,
        doc="most messages of one queue that a group may have popped and not acknowledged",
        check=at_least(1),
        conf="popInflightMessageThreshold",
        live=True,
        was="broker.pop_out_max",
    )
    check_points_max: int = setting(
        200_000,
        doc="most pops kept in memory while messages of them are out; the timer keeps the others",
        check=at_least(1),
        conf="popCkMaxBufferSize",
        live=True,
        was="broker.pop_check_points_max",
    )
