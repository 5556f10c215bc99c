"""Requests of this project by which operators change the roles of running brokers (replication.md §6)."""

from __future__ import annotations

from mqframe.core.requests.fields import ONLY_OURS, Int, Request, request
from mqframe.core.requests.needs import Action, cluster


@request(21340, answer_body="RoleChange", needs=cluster(Action.UPDATE), since=ONLY_OURS)
class PromoteBroker(Request):
    """Slave, become master in the role `role`; answered before it does.

    `former`: "host:port" of the other brokers of its name, separated by semicolons: none of them may be a
    master or have more of the log, and the tables are copied from the first. `force`: go on with whatever
    stands against it.
    """

    role: str = "ASYNC_MASTER"
    former: str = ""
    force: bool = False


@request(21341, answer_body="RoleChange", needs=cluster(Action.UPDATE), since=ONLY_OURS)
class DemoteBroker(Request):
    """Master, become a slave with the number `id`; answered before it does, when slaves have all.

    `tables_ms`: for so long slaves may take to copy tables, where these are not told to, while messages are
    taken (0: nobody waits for it); `wait_ms`: and then to get the end of the log. `force`: go on with
    whatever stands against it.
    """

    id: Int
    wait_ms: Int = 30_000
    tables_ms: Int = 0
    force: bool = False
