"""JSON bodies of the requests for queues that a broker assigns, and the table of how groups read topics.

Sources: QueryAssignmentRequestBody.java, MessageRequestModeManager.java.
"""

from __future__ import annotations

from mqframe.core.consuming.bodies import QueueBody
from mqframe.core.wire.bodies import Body


class QueryAssignmentBody(Body):
    """Which member of which group asks for its queues of a topic."""

    topic: str
    consumer_group: str
    client_id: str
    message_model: str | None = "CLUSTERING"
    strategy_name: str | None = None


class Assignment(Body):
    """A queue that a member has (queue id -1: any of the broker), and how it reads it: PULL or POP."""

    message_queue: QueueBody
    mode: str = "PULL"


class AssignmentsBody(Body):
    """All queues of a member; none at all when the broker cannot tell, and the member keeps what it has."""

    message_queue_assignments: list[Assignment] | None = None


class RequestModeBody(Body, gc=False):
    """How a group reads a topic: PULL or POP.

    `pop_share_queue_num`: with how many further members each shares its queues; -1 or 0: with all.
    """

    topic: str
    consumer_group: str
    mode: str = "PULL"
    pop_share_queue_num: int = 0


class RequestModeTable(Body):
    """`config/messageRequestMode.json`: by topic, then by group."""

    message_request_mode_map: dict[str, dict[str, RequestModeBody]] = {}
