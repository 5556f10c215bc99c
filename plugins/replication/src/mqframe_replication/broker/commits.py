"""What clients committed at a slave while its master was away is told to the master when it is back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import BadAnswer, HeaderError
from mqframe.core.requests.consumers import OffsetAnswer, QueryConsumerOffset, UpdateConsumerOffset
from mqframe.core.requests.fields import decode_fields
from mqframe.log import get_logger
from mqframe.net.client import Client
from mqframe.store.files.config_file import ConfigFile
from mqframe_replication.broker.asking import CALL_SECONDS, ask
from mqframe_replication.rules.slave_offsets import SlaveOffsets, Told

log = get_logger("replication")
OWN_COMMITS: Final = "slaveCommits.json"
"""The file of `OwnCommitTable`."""
_AT_ONCE: Final = 64


class CommitsToTell:
    """Tells masters of those commits in `offsets` that are further than what they hold."""

    def __init__(self, offsets: SlaveOffsets, client: Client) -> None:
        self._offsets = offsets
        self._client = client

    async def tell(self, master: str) -> None:
        """Tell the master at `master`, "host:port". Raises what a call raises; the rest is told next time."""
        by_table = groupby(self._offsets.own.all(), attrgetter("group", "topic"))
        tables = [list(commits) for _, commits in by_table]
        for at in range(0, len(tables), _AT_ONCE):
            told = [self._tell_all(master, commits) for commits in tables[at : at + _AT_ONCE]]
            # All of them end, so that none goes on beside the next attempt.
            for outcome in await asyncio.gather(*told, return_exceptions=True):
                if isinstance(outcome, BaseException):
                    raise outcome

    async def _tell_all(self, master: str, commits: Sequence[Told]) -> None:
        """Tell of the queues of one topic and group, one after the other.

        A master of RocketMQ's that has nothing of them yet serves requests in several threads, and each makes
        a table: that of one queue replaces that of another (ConsumerOffsetManager.commitOffset), which then
        counts as told and is not there.
        """
        for commit in commits:
            await self._tell(master, commit)

    async def _tell(self, master: str, commit: Told) -> None:
        # Asked once more: its clients, another slave or an operator may have been there since it was copied.
        if self._offsets.is_news(commit, await self._held(master, commit)):
            request = UpdateConsumerOffset(commit.group, commit.topic, commit.queue_id, commit.offset)
            answer = await self._client.invoke(master, request, timeout=CALL_SECONDS)
            if answer.code:
                # It lacks the topic, the group or the messages: there is nothing to go on with there.
                log.warning(
                    "the master does not take an offset that was committed here",
                    group=commit.group, topic=commit.topic, queue=commit.queue_id, offset=commit.offset,
                    code=answer.code, reason=answer.remark,
                )  # fmt: skip
        self._offsets.told(commit)

    async def _held(self, master: str, commit: Told) -> int | None:
        request = QueryConsumerOffset(
            commit.group, commit.topic, commit.queue_id, set_zero_if_not_found=False
        )
        answer = await ask(self._client, master, request, ResponseCode.QUERY_NOT_FOUND)
        if answer.code:
            return None
        try:
            return decode_fields(answer.ext, OffsetAnswer).offset
        except HeaderError as problem:
            raise BadAnswer(f"answer of {master} about an offset: {problem}") from None


def forget_commits(config: Path) -> None:
    """A broker that is no slave tells nobody: the offsets that it has are its own. Raises OSError."""
    file = ConfigFile(config / OWN_COMMITS)
    file.path.unlink(missing_ok=True)
    file.backup.unlink(missing_ok=True)
