"""How many pulls are under way at once. Plain rules.

Where nothing is filtered an answer's end can be predicted: brokers give as many messages as they are
configured to, so the next pulls are asked before the first is answered. What comes is always checked; the
prediction costs a repeated pull where it fails, nothing else.
"""

from __future__ import annotations

from typing import Final

PULL_MESSAGES: Final = 4096
"""Asked for in one pull; brokers give what they are configured to: 32, where they are Apache's."""
WINDOW_BYTES: Final = 1 << 20
"""About so much is asked for at once."""
PULLS_MAX: Final = 32
_MARGIN: Final = 16
"""Where bytes end an answer, its count varies: one part in so many is left away from what is predicted."""

Asked = list[tuple[int, int]]
"""Pulls: (offset, most messages)."""


class PullWindow:
    """What to ask for next. `predictable`: whether answers hold all messages from their offset on."""

    def __init__(self, *, predictable: bool) -> None:
        self._predictable = predictable
        self._step = 0
        self._pulls = 1

    def asked(self, offset: int, end: int) -> Asked:
        """The next pulls, from `offset` on. The last may give all it can: from its end on it goes on."""
        if not self._predictable:
            return [(offset, PULL_MESSAGES)]
        step = self._step
        found = [(offset + step * n, step) for n in range(self._pulls) if not n or offset + step * n < end]
        last = found[-1][0]
        found[-1] = last, min(PULL_MESSAGES, end - last)
        return found

    def learn(self, asked: Asked, counts: list[int], size_bytes: int) -> None:
        """`counts`: messages that the first answers to `asked` had, of `size_bytes` together."""
        for (_, most), count in zip(asked, counts, strict=False):
            # One that gave all it was asked for tells nothing, unless nobody asks for more.
            if count > 0 and (count < most or most == PULL_MESSAGES):
                self._step = count - count // _MARGIN if count >= 4 * _MARGIN else count
        total = sum(counts)
        if total and self._step:
            fitting = WINDOW_BYTES * total // (size_bytes * self._step)
            self._pulls = min(max(fitting, 1), PULLS_MAX)
