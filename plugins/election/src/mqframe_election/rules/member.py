"""What a broker of an elected group is from one lease to the next."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from mqframe_election.rules.ability import Abdication
from mqframe_election.rules.limits import ElectionLimits


@attrs.frozen
class ElectionMember:
    """A broker as it is from one lease to the next.

    `number`: in its group, whose name is `group`; `words`: gives another text at each call, by which a claim
    is found again; `abdication`: when it gave up the lead last.
    """

    number: int
    group: str
    limits: ElectionLimits
    words: Callable[[], str]
    abdication: Abdication
