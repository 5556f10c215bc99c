"""What somebody who misspelt a name probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(wanted: str, known: Iterable[str], *, most: int = 3, cutoff: float = 0.6) -> str:
    """ "did you mean a or b?", with at most `most` of `known`; "" when none is near.

    `cutoff`: how alike a name must be, 0 to 1.
    """
    near = get_close_matches(wanted, dict.fromkeys(known), n=most, cutoff=cutoff)
    return f"did you mean {' or '.join(near)}?" if near else ""
