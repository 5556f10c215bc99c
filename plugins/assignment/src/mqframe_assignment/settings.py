"""The settings of the broker service `assignment`."""

from __future__ import annotations

from mqframe.core.config.settings import at_least, one_of, setting, settings


@settings("assignment")
class AssignmentSettings:
    """How groups read topics where operators said nothing of them."""

    request_mode: str = setting(
        "PULL",
        doc="how groups of which nothing was said read: PULL or POP",
        check=one_of("PULL", "POP"),
        conf="defaultMessageRequestMode",
        live=True,
        was=("broker.request_mode", "pop.request_mode"),
    )
    pop_share_queues: int = setting(
        -1,
        doc="with how many further members each shares its queues when POP is the default; -1: with all",
        check=at_least(-1),
        conf="defaultPopShareQueueNum",
        live=True,
        was=("broker.pop_share_queues", "pop.share_queues"),
    )
