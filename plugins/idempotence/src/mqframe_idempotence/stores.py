"""What stores are to the wrapper: attempts at the effect of some keys, claimed, then finished or given up.

A method of an asynchronous store returns an awaitable of what its docstring names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, Protocol

KEEP_SECONDS: Final = 7 * 86400.0
"""For how long keys are known. A message comes again for up to 4 h 46 min (16 tries); then it lies as a dead
letter for up to 72 h in its broker's log, from where an operator may send it again."""


class Claim(Enum):
    """What a store says of a key. `NEW`: it is ours; `DONE`: its effect is there; `BUSY`: others try it."""

    NEW = "new"
    DONE = "done"
    BUSY = "busy"


class Attempt(Protocol):
    """One try at the effect of some keys, of one delivery or one batch."""

    session: Any
    """What the listener is handed: the connection or session of a database, `None` of other stores."""

    def claim(self, keys: Sequence[str]) -> Any:
        """Claim `keys`, no two alike: a mapping of each to its `Claim`.

        Raises `StoreBusy`, `StoreAway` (come again later) or a `FixError`; then nothing is claimed.
        """

    def finish(self, keys: Sequence[str]) -> Any:
        """The effects of `keys`, which were NEW, are there: note them for good, and give up the others.

        Returns how many of them had been lost before. Raises as `claim` does.
        """

    def give_up(self) -> Any:
        """Nothing is to be kept: all that was claimed may be claimed again."""

    def close(self) -> Any:
        """Let go of what the attempt holds, after `finish` or `give_up`, or after `claim` raised."""


class Store(Protocol):
    """Remembers keys. `is_async`: its attempts' methods return awaitables; `None`: any use will do.

    `in_transaction`: the effect is to be done through `Attempt.session`, and kept or taken back with the key.
    """

    is_async: bool | None
    in_transaction: bool

    def open(self, scope: str) -> Any:
        """A new attempt within `scope`. Raises `StoreAway` where there is no connection."""


Claims = Mapping[str, Claim]
