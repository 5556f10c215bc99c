"""How many messages one ordered pop asks for."""

from __future__ import annotations


class OrderedPace:
    """One at first and after a failure, twice as many after each pop that went well, up to `most`.

    A pop in order that fails at its first message brings all of them again, and that counts for each. The
    broker forgets the counts of those that were not in the last pop, so the one that fails is popped alone.
    """

    __slots__ = ("_most", "count")

    def __init__(self, most: int) -> None:
        self._most = most
        self.count = 1

    def went_well(self) -> None:
        """All that one pop brought is done, and nothing of it had come before."""
        self.count = min(2 * self.count, self._most)

    def failed(self) -> None:
        """Something failed, or came again."""
        self.count = 1
