"""Requests of operators to brokers of elected groups; brokers of this project only."""

from __future__ import annotations

from mqframe.core.requests.fields import ONLY_OURS, Header, Int, Long, Request, request
from mqframe.core.requests.needs import Action, cluster


class ForceElectionAnswer(Header):
    """What is given up.

    `end`: where the log of this broker ends; `confirmed`: up to where brokers in sync were known to have the
    log when the state was written, log offsets, bytes; more may have been confirmed since. `epoch`: the term
    that ended; `members`: who was in sync then, by number, comma-joined.
    """

    epoch: Int
    end: Long
    confirmed: Long
    members: str


@request(21901, ForceElectionAnswer, needs=cluster(Action.UPDATE), since=ONLY_OURS)
class ForceElection(Request):
    """Have this broker lead its group with what it has, though it was not in sync when the last term ended.

    Without `accept_loss` nothing is done: the answer tells what would be given up.
    """

    accept_loss: bool = False
