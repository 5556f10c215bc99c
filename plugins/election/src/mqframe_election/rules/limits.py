"""The times and numbers of an election."""

from __future__ import annotations

from typing import Final

import attrs

RETRY_SECONDS: Final = 1.0
"""After so long a broker takes part anew, and asks an engine again that did not answer."""
LAST_SHARE: Final = 5
"""So many times as long as others a broker waits that cannot store, before it leads all the same."""


@attrs.frozen
class ElectionLimits:
    """Times are in seconds.

    `lease`: asked of the engine; `renew`: between two renewals, and at most between two looks at the group;
    `margin`: as of `LeaseTimes`; `patience`: how long one who has less of the log than others leaves them the
    first claim; `first`: how long the first leader of a group waits for other brokers; `members_min`: with
    fewer in sync nothing is confirmed.
    """

    lease: float
    renew: float
    margin: float
    patience: float
    first: float
    members_min: int
