"""What workers carry out, whoever hands it to them."""

from __future__ import annotations

from collections.abc import Sized
from typing import Protocol, TypeVar


class Work(Protocol):
    """One call of a listener. `elapsed`: seconds that it took, known once it was carried out."""

    elapsed: float

    @property
    def messages(self) -> Sized:
        """What the listener gets."""
        ...


W = TypeVar("W", bound=Work)


class Chain(Protocol[W]):
    """Work that has an order: one piece after the other by the same worker, which is spared the way through
    the loop. All methods are called by workers."""

    def follow(self, work: W) -> W:
        """What is to be done after `work`, which was reported, by whoever did it."""
        ...

    def ends(self, work: W) -> bool:
        """Whether `work` is nothing to be done but the end of a chain, which is reported likewise."""
        ...

    def is_urgent(self, work: W) -> bool:
        """Whether the loop is to hear of this end at once."""
        ...
