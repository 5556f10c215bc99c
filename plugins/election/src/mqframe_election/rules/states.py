"""The states of an election, as one broker goes through them; their tables are in `elector` and `turns`."""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """Of an `Elector`: the call that is under way, or what is waited for."""

    NEW = "new"
    OPENING = "opening"
    CHECKING = "checking"
    ENTERING = "entering"
    TAKING_PART = "taking part"
    ENDING = "ending"
    LEAVING = "leaving"
    RESTING = "resting"
    STOPPED = "stopped"


class TurnState(Enum):
    """Of its `Turns`, while it takes part: the call that is under way, or what is waited for."""

    NEW = "new"
    WAITING = "waiting"
    TELLING = "telling"
    LOOKING = "looking"
    FOLLOWING = "following"
    HALTING = "halting"
    DECLARING = "declaring"
    LOOKING_AGAIN = "looking again"
    CLAIMING = "claiming"
    WITHDRAWING = "withdrawing"
    TAKING_OVER = "taking over"
    GIVING_BACK = "giving back"
    CHANGING = "changing"
    ABDICATING = "abdicating"
    DEPOSING = "deposing"
    OVER = "over"
