"""Settings of lite pull consumers."""

from __future__ import annotations

import attrs

from mqframe.client.configuration.fetch_options import FetchOptions, FetchSettings
from mqframe.core.config.settings import at_least, setting, settings, within
from mqframe.core.consuming.flow_control import FetchLimits, FlowLimits
from mqframe.net.clock import LoopClock


@settings("lite_pull")
class LitePullSettings(FetchSettings):
    """How a lite pull consumer fetches ahead, and when it commits by itself."""

    auto_commit_seconds: float = setting(
        5.0, doc="a poll commits what earlier ones handed out so often, s", check=at_least(0.01)
    )
    poll_messages_max: int = setting(
        32, doc="messages that one poll hands out, count", check=within(1, 65_535)
    )
    pull_wait_seconds: float = setting(
        10.0, doc="how long a broker may keep a pull waiting for messages, s", check=within(0, 60)
    )
    error_seconds: float = setting(
        1.0, doc="pause of a queue after a pull that failed, s", check=at_least(0.001)
    )
    revoke_seconds: float = setting(
        10.0,
        doc="what a listener may take that is told of queues before they go to other members, s",
        check=at_least(0.01),
    )
    held_messages_max: int = setting(
        10_000,
        doc="messages held of all queues together before pulls wait, count",
        check=at_least(1),
    )

    def fetch_options(self, group: str, clock: LoopClock) -> FetchOptions:
        """How `group` pulls."""
        limits = FetchLimits(
            queue=FlowLimits(self.queue_messages_max, self.queue_bytes_max, self.queue_span_max),
            held_messages_max=self.held_messages_max,
            held_bytes_max=self.held_bytes_max,
        )
        return attrs.evolve(self.options(group, clock, limits), error_seconds=self.error_seconds, lite=True)
