"""Administration: whether groups pull topics or pop them (docs/howto/pop.md)."""

from __future__ import annotations

from mqframe.client.admin_calls import AdminCalls, body_of
from mqframe.core import loosejson
from mqframe.core.errors import FixError
from mqframe.core.pop_assignment import POP, PULL
from mqframe.core.pop_bodies import RequestModeBody, RequestModeTable
from mqframe.core.requests.pop import GetAllMessageRequestMode, SetMessageRequestMode
from mqframe.core.topics import check_group, check_topic


class ModeAdmin(AdminCalls):
    """Request modes. They hold for consumers that let the broker assign their queues."""

    async def set_request_mode(self, group: str, topic: str, mode: str, *, share: int = 0) -> None:
        """Let members of `group` read `topic` by PULL or POP from their next rebalance on.

        `share`: how many further members each shares its popped queues with; 0: with all. Told to all
        masters that have the topic. Raises `FixError` for another mode, a topic that no broker has, or a
        group that one does not know.
        """
        check_group(group)
        check_topic(topic)
        if mode not in (PULL, POP):
            raise FixError(f"mode {mode!r}: a topic is read by {PULL} or {POP}")
        body = loosejson.dumps(RequestModeBody(topic, group, mode, share))
        addresses = list((await self._topic_masters(topic)).values())
        await self._call_all(addresses, SetMessageRequestMode(), body)

    async def request_modes(self, group: str | None = None) -> list[RequestModeBody]:
        """All modes that were set, or those of `group`, by topic and group; PULL where nothing was set."""
        found: dict[tuple[str, str], RequestModeBody] = {}
        for answer in await self._call_all(list((await self.masters()).values()), GetAllMessageRequestMode()):
            for topic, groups in body_of(answer, RequestModeTable).message_request_mode_map.items():
                found |= {(topic, name): mode for name, mode in groups.items() if group in (None, name)}
        return [mode for _, mode in sorted(found.items())]
