"""Allocation strategies: how the queues of a topic are shared among the members of a consumer group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final, Protocol

from mqframe.core.clock import Clock
from mqframe.core.messages.message import MessageQueue

PREPARE_SECONDS_MAX: Final = 10.0
"""How long a round waits for `AllocationStrategy.prepare`."""


class AllocationPort(Protocol):
    """What a strategy may look at before it decides. Handed to `AllocationStrategy.prepare`, in the loop."""

    @property
    def client_id(self) -> str:
        """Which member asks."""

    @property
    def clock(self) -> Clock:
        """The time. Wall clocks of members differ a little, monotonic ones have nothing in common."""

    @property
    def preview(self) -> bool:
        """Whether nobody's queues depend on the answer: a plan is made of what would be, and notes that are
        written go nowhere."""

    async def lags(self, topic: str) -> dict[MessageQueue, int]:
        """Messages that the group has still to consume, by queue of `topic`.

        Queues of brokers that do not answer are missing. Raises `RetryError` when none does.
        """

    async def notes(self, key: str) -> list[str]:
        """What each name server that answers keeps for the group under `key`, "" where it keeps none.

        Raises `RetryError` when none answers.
        """

    async def write_note(self, key: str, value: str) -> None:
        """Have all name servers keep `value` under `key` for all members of the group to read.

        Raises `RetryError` when none took it.
        """

    def again_in(self, seconds: float) -> None:
        """Have the queues shared anew in so many seconds at the latest. One such wish is kept, the earliest;
        each round has to say it again."""


class AllocationStrategy(ABC):
    """Decides which queues a member gets. All members must agree on the split.

    `wire_name`: the name that RocketMQ uses for the strategy, for example "AVG".
    """

    wire_name: str

    @abstractmethod
    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        """The queues of `client_id`, in order; empty when it gets none. Synchronous; may not block.

        `queues` and `clients` are sorted, not empty and free of doubles; a `client_id` that is not in
        `clients` gets nothing. An exception keeps the present assignment and is logged.
        """

    async def prepare(  # noqa: B027 - optional
        self,
        port: AllocationPort,
        group: str,
        topic: str,
        queues: Sequence[MessageQueue],
        clients: Sequence[str],
    ) -> None:
        """Look at what `allocate` shall rest on, before each round for `topic`.

        Only strategies that override it are asked, and only by members and by plans: brokers that share
        queues out have no port. An exception is logged, and `allocate` decides with what was known before; so
        it does when this takes longer than `PREPARE_SECONDS_MAX`.
        """

    def basis(self, group: str, topic: str) -> str:
        """What the split of `topic` rests on besides the two lists, for people to read; "": nothing."""
        return ""

    @property
    def prepares(self) -> bool:
        """Whether the strategy overrides `prepare`."""
        return type(self).prepare is not AllocationStrategy.prepare
