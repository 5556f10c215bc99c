"""What a quota is: whose, and how much of what; and how it is written in a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from mqframe.core.wire.bodies import Body

EVERYBODY: Final = "*"
"""The name of a quota that each has of its kind who has none of its own."""
RATES: Final = ("send_bytes", "send_messages", "read_bytes", "read_messages")
"""Limits of what passes in a second."""
COUNTS: Final = ("connections", "in_flight")
"""Limits of what there is at once."""
LIMITS: Final = (*RATES, *COUNTS)
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "user": LIMITS,
    "address": LIMITS,
    "topic": RATES,
    "group": RATES,
}
"""Whom quotas are for, and what can be limited of them."""
NAME_CHARACTERS_MAX: Final = 255
LIMIT_MAX: Final = 1 << 53
"""Above, floats are no exact counts any more."""


class Quota(Body):
    """How much all of one name may have; 0: as much as they like.

    `kind`: of `KINDS`; `name`: of a user, an IP address, a topic or a group, or `EVERYBODY`. `send_bytes`,
    `read_bytes`: bytes of bodies a second; `send_messages`, `read_messages`: messages a second;
    `connections`: at once; `in_flight`: sends that wait for their answers.
    """

    kind: str
    name: str
    send_bytes: int = 0
    send_messages: int = 0
    read_bytes: int = 0
    read_messages: int = 0
    connections: int = 0
    in_flight: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """Whose it is."""
        return self.kind, self.name

    def limit(self, name: str) -> int:
        """The limit `name`, of `LIMITS`; 0: there is none."""
        found: int = getattr(self, name)
        return found

    @property
    def limits(self) -> dict[str, int]:
        """Those that there are, by name."""
        return {name: self.limit(name) for name in LIMITS if self.limit(name)}


def problem_of(quota: Quota) -> str:
    """What is wrong with `quota`, and what to do; empty when nothing is."""
    if quota.kind not in KINDS:
        return f"quotas are for {', '.join(KINDS)}; {quota.kind!r} is none of these"
    if not quota.name or quota.name.split() != [quota.name] or len(quota.name) > NAME_CHARACTERS_MAX:
        return (
            f"{quota.name!r} is no name of a quota: give 1 to {NAME_CHARACTERS_MAX} characters without"
            f" spaces, {EVERYBODY} for all that have none of their own"
        )
    for name, limit in quota.limits.items():
        if name not in KINDS[quota.kind]:
            return f"{name} cannot be limited by {quota.kind}; these can: {', '.join(KINDS[quota.kind])}"
        if not 0 <= limit <= LIMIT_MAX:
            return f"{name} = {limit}: give a number from 1 to {LIMIT_MAX}, or 0 for no limit"
    return ""


def read_line(line: str) -> Quota:
    """The quota that `line` says: "user:alice send_bytes=1000000 send_messages=100".

    Raises ValueError, which says what is wrong with it.
    """
    whose, *words = line.split() or [""]
    kind, colon, name = whose.partition(":")
    if not colon:
        raise ValueError(f'{line!r} begins with no KIND:NAME; write "user:alice send_messages=100"')
    limits: dict[str, int] = {}
    for word in words:
        limit, _, number = word.partition("=")
        if limit not in LIMITS or not (number.isascii() and number.isdecimal()) or limit in limits:
            raise ValueError(
                f"{line!r}: {word!r} is not understood; write each limit once, as one of"
                f" {', '.join(LIMITS)}, = and a number"
            )
        limits[limit] = int(number)
    quota = Quota(kind=kind, name=name, **limits)
    problem = problem_of(quota)
    if problem:
        raise ValueError(f"{line!r}: {problem}")
    return quota


def read_lines(lines: Iterable[str]) -> dict[tuple[str, str], Quota]:
    """The quotas of `lines` by whose they are. Raises ValueError, also where two are for the same."""
    found: dict[tuple[str, str], Quota] = {}
    for line in lines:
        quota = read_line(line)
        if quota.key in found:
            raise ValueError(f"{quota.kind}:{quota.name} has two lines; write one with all its limits")
        found[quota.key] = quota
    return found


def text_of(quota: Quota) -> str:
    """`quota` as `read_line` reads it."""
    return " ".join(
        [f"{quota.kind}:{quota.name}", *(f"{name}={limit}" for name, limit in quota.limits.items())]
    )
