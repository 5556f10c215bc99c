"""Budgets: how much of something may be in use at once, and what happens beyond it.

Nothing that strangers can make grow is without one. A budget is a counter; nothing is searched where messages
pass.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, Generic, TypeVar

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal

P = TypeVar("P", bound=Hashable)

RELIEF: Final = 8
"""Where room has to be made, this part of the whole is made free, so that it is not made for each byte."""


class Budget:
    """What may be in use of something, beyond which requests are refused as "busy".

    `name`: as metrics and refusals show it; `setting`: where operators change it; `used`, `limit`: give how
    much is in use now, and the most that may be. `refused`: how often there was not enough.
    """

    __slots__ = ("limit", "name", "refused", "setting", "used")

    def __init__(self, name: str, setting: str, used: Callable[[], int], limit: Callable[[], int]) -> None:
        self.name = name
        self.setting = setting
        self.used = used
        self.limit = limit
        self.refused = 0

    def admit(self, more: int = 1) -> None:
        """Raise `Refusal` SYSTEM_BUSY, naming the setting, unless there is room for `more`."""
        used, limit = self.used(), self.limit()
        if used + more > limit:
            self.refused += 1
            raise Refusal(
                ResponseCode.SYSTEM_BUSY,
                f"{self.name}: {used} of at most {limit} are in use, there is no room for {more} more "
                f"({self.setting})",
            )

    def counters(self) -> dict[str, str]:
        """What operators are shown."""
        return counters(self.name, self.used(), self.limit(), self.refused)


def counters(name: str, used: int, limit: int, refused: int) -> dict[str, str]:
    """The counters of the budget `name`: what is in use, the most that may be, how often that was refused."""
    words = name.split()
    key = "budget." + words[0] + "".join(word.capitalize() for word in words[1:])
    return {f"{key}.used": str(used), f"{key}.max": str(limit), f"{key}.refused": str(refused)}


def admit_all(more: int = 1) -> None:
    """A budget without a limit, for tables that stand alone."""


class Shares(Generic[P]):
    """Bytes that each of many holders takes, together at most `limit`.

    Beyond it those have to go that hold some the longest, unless it is little. `recount`: what a holder
    really has, where it can become less unnoticed. `most`: most that was in use at once, until somebody
    sets it.
    """

    __slots__ = ("_recount", "_sizes", "limit", "most", "shed", "used")

    def __init__(self, limit: int, recount: Callable[[P], int] | None = None) -> None:
        self._recount = recount
        self._sizes: dict[P, int] = {}
        self.limit = limit
        self.used = self.most = 0
        self.shed = 0

    def __len__(self) -> int:
        return len(self._sizes)

    def take(self, holder: P, size: int) -> Sequence[P]:
        """`holder` has `size` bytes now. Returns those that have to go; they hold nothing here any more."""
        sizes = self._sizes
        before = sizes.get(holder, 0)
        self.used += size - before
        if self.used > self.most:
            self.most = self.used
        if size:
            sizes[holder] = size
        elif before:
            del sizes[holder]
        return self._make_room() if self.used > self.limit else ()

    def _make_room(self) -> Sequence[P]:
        if self._recount is not None:
            self._update((holder, self._recount(holder)) for holder in tuple(self._sizes))
            if self.used <= self.limit:
                return ()
        # One that holds little is not worth its end: at least half of what is average.
        least = self.used // (2 * len(self._sizes))
        leaving: list[P] = []
        for holder, size in self._sizes.items():
            if self.used <= self.limit - self.limit // RELIEF:
                break
            if size >= least:
                leaving.append(holder)
                self.used -= size
        for holder in leaving:
            del self._sizes[holder]
        self.shed += len(leaving)
        return leaving

    def _update(self, found: Iterable[tuple[P, int]]) -> None:
        for holder, size in found:
            self.used += size - self._sizes[holder]
            if size:
                self._sizes[holder] = size
            else:
                del self._sizes[holder]
