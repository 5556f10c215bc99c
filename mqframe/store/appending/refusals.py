"""Why messages are refused at the moment: the disk, queues that cannot be written, copies, the end."""

from __future__ import annotations

from typing import Protocol

from mqframe.core.errors import StoreUnavailable
from mqframe.core.storage.replicas import Replicas
from mqframe.store.appending.inline_dispatch import InlineDispatch
from mqframe.store.files.durability import Durability


class DiskSpace(Protocol):
    """Looks at how full the disk is: as `Cleaner`."""

    refusal: StoreUnavailable | None
    """Why the disk is to get no more; `None` normally."""


class WriteRefusals:
    """Whom to ask before a message is stored. `closed`: whether the store has stopped."""

    def __init__(
        self, durability: Durability, space: DiskSpace, dispatch: InlineDispatch, replicas: Replicas | None
    ) -> None:
        self.durability = durability
        self.space = space
        self.dispatch = dispatch
        self.replicas = replicas
        self.closed = False

    def now(self) -> StoreUnavailable | None:
        """Why messages are refused at the moment; `None` when they are not."""
        if self.closed:
            return StoreUnavailable("the store has stopped")
        return self.own() or (None if self.replicas is None else self.replicas.refusal())

    def own(self) -> StoreUnavailable | None:
        """As `now`, whatever copies say; also once the store has stopped."""
        return self.durability.failure or self.space.refusal or self.dispatch.failure
