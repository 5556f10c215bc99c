"""What becomes of something that was stored, for whoever waits to know."""

from __future__ import annotations

from enum import Enum


class Outcome(Enum):
    """Whether it is confirmed, and if not why; the value ends a sentence about it.

    `core.requests.failures` says what a caller is answered.
    """

    CONFIRMED = "is confirmed"
    NOT_ON_DISK = "was not on disk in time"
    NOT_COPIED = "was not copied in time"
    TOO_FEW_COPIES = "has fewer copies than were asked for, since too few slaves are in sync"
