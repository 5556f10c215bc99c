"""Which queues a member of a group gets when the broker decides (source: QueryAssignmentProcessor.java)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mqframe.core.measuring.budget import admit_all
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import RETRY_PREFIX
from mqframe_assignment.rules.bodies import RequestModeBody, RequestModeTable

PULL: Final = "PULL"
POP: Final = "POP"
ANY_QUEUE: Final = -1

Split = Callable[[str, Sequence[MessageQueue], Sequence[str]], list[MessageQueue]]
"""An allocation strategy: (member, sorted queues, sorted members) to the member's queues."""


class RequestModes:
    """How groups read topics, as far as somebody said so. `changes` grows with every change.

    `count`: pairs of topic and group; `admit`: raises where there is no room for so many more.
    """

    def __init__(self) -> None:
        self.count = 0
        self.admit: Callable[[int], None] = admit_all
        self._modes: dict[str, dict[str, RequestModeBody]] = {}
        self.changes = 0

    def find(self, topic: str, group: str, default_mode: str, default_share: int) -> RequestModeBody:
        """How `group` reads `topic`; retry topics are pulled."""
        found = self._modes.get(topic, {}).get(group)
        if found is not None:
            return found
        mode = PULL if topic.startswith(RETRY_PREFIX) else default_mode
        share = default_share if mode == POP else 0
        return RequestModeBody(topic=topic, consumer_group=group, mode=mode, pop_share_queue_num=share)

    def put(self, mode: RequestModeBody) -> None:
        """Set how a group reads a topic. Raises `Refusal` where there is no room for another."""
        if mode.consumer_group not in self._modes.get(mode.topic, ()):
            self.admit(1)
            self.count += 1
        self._modes.setdefault(mode.topic, {})[mode.consumer_group] = mode
        self.changes += 1

    def load(self, table: RequestModeTable) -> None:
        """Take over what was saved."""
        self._modes = {topic: dict(groups) for topic, groups in table.message_request_mode_map.items()}
        self.count = sum(map(len, self._modes.values()))

    def dump(self) -> RequestModeTable:
        """Everything, as it is saved."""
        return RequestModeTable(
            message_request_mode_map={topic: dict(groups) for topic, groups in self._modes.items()}
        )


def share_out(
    member: str, queues: Sequence[MessageQueue], members: Sequence[str], share: int, split: Split
) -> list[MessageQueue]:
    """The queues that `member` pops; `queues` and `members` are sorted.

    `share` at most 0, or so large that all would share anyway: each pops any queue of each broker (queue id
    -1). Else each pops its own queues and those of the `share` members behind it; when there are more members
    than queues, one queue each.
    """
    if share <= 0 or share >= len(members) - 1:
        any_queue = (MessageQueue(queue.topic, queue.broker_name, ANY_QUEUE) for queue in queues)
        return list(dict.fromkeys(any_queue))
    if member not in members:
        return []
    at = members.index(member)
    if len(members) > len(queues):
        return [queues[at % len(queues)]] if queues else []
    behind = [members[(at + distance) % len(members)] for distance in range(share + 1)]
    return list(dict.fromkeys(queue for each in behind for queue in split(each, queues, members)))
