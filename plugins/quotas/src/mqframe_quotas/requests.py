"""The requests for quotas; brokers without the service answer 3. Codes far from the reference's."""

from __future__ import annotations

from mqframe.core.requests.fields import Request, request
from mqframe.core.requests.lasting import AtSlaves, Saved
from mqframe.core.requests.needs import Action, cluster


@request(21380, body="Quota", needs=cluster(Action.UPDATE), at_slaves=AtSlaves.TABLES, saved=Saved.TABLES)
class SetQuota(Request):
    """Set a quota, in place of the one for the same; 29 for a bad one, or one too many."""


@request(21381, answer_body="QuotaStates", needs=cluster(Action.GET))
class ListQuotas(Request):
    """All quotas in force at the broker."""


@request(21382, answer_body="QuotaLeft", needs=cluster(Action.GET))
class ShowQuota(Request):
    """What a user, address, topic or group may have at this moment; 29 for an unknown kind."""

    kind: str
    name: str


@request(21383, needs=cluster(Action.UPDATE), at_slaves=AtSlaves.TABLES, saved=Saved.TABLES)
class DeleteQuota(Request):
    """Delete a quota that was set; 22 when none was. One of the settings is in force again then."""

    kind: str
    name: str
