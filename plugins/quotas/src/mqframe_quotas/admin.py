"""Quotas of a cluster, for programs: set, listed, shown and deleted through an `Admin`."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, TypeVar

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, FixError
from mqframe.core.requests.fields import Request
from mqframe.core.requests.refusals import is_unserved
from mqframe.core.wire import loose_json
from mqframe_quotas.bodies import QuotaLeft, QuotaState, QuotaStates
from mqframe_quotas.requests import DeleteQuota, ListQuotas, SetQuota, ShowQuota
from mqframe_quotas.rules.limits import Quota, problem_of

if TYPE_CHECKING:
    from mqframe import Admin

T = TypeVar("T")
_NOT_SERVED = (
    "broker {broker} serves no quotas; install mqframe-plugin-quotas where it runs, and start it with"
    ' broker.services = ["quotas"]'
)


class QuotasAdmin:
    """The quotas of all brokers that `admin` knows, or of `broker` alone. Each broker counts for itself.

        with Admin(nameserver="127.0.0.1:9876") as admin:
            QuotasAdmin(admin).set(Quota(kind="user", name="alice", send_messages=100))

    Raises `AnswerError` with the code and reason of a broker that refused, `FixError` when no broker can be
    asked, and a `RetryError` when one could not be reached.
    """

    def __init__(self, admin: Admin, *, broker: str | None = None) -> None:
        self._admin = admin
        self._broker = broker

    def set(self, quota: Quota) -> None:
        """Set `quota` at each broker, in place of what was set for the same.

        Raises `FixError` for one that is none, and where a broker has not the service: others have it then.
        """
        problem = problem_of(quota)
        if problem:
            raise FixError(problem)
        for broker in self._brokers():
            self._call(broker, SetQuota(), loose_json.dumps(quota))

    def list(self) -> list[QuotaState]:
        """The quotas in force, by kind, name and broker. Brokers without the service are left out, unless all
        are."""
        found: list[QuotaState] = []
        unserved: list[FixError] = []
        brokers = self._brokers()
        for broker in brokers:
            try:
                found += self._asked(broker, ListQuotas(), QuotaStates).quotas
            except FixError as problem:
                if not isinstance(problem.__cause__, AnswerError):
                    raise
                unserved.append(problem)
        if len(unserved) == len(brokers):
            raise unserved[0]
        return sorted(found, key=lambda state: (*state.quota.key, state.broker))

    def show(self, kind: str, name: str) -> builtins.list[QuotaLeft]:
        """What one may have at each broker at this moment."""
        return [self._asked(broker, ShowQuota(kind=kind, name=name), QuotaLeft) for broker in self._brokers()]

    def delete(self, kind: str, name: str) -> None:
        """Delete the quota that was set for `name`, wherever one was. Raises `AnswerError` 22: none was."""
        missing: list[AnswerError] = []
        brokers = self._brokers()
        for broker in brokers:
            try:
                self._call(broker, DeleteQuota(kind=kind, name=name))
            except AnswerError as problem:
                if problem.code != ResponseCode.QUERY_NOT_FOUND:
                    raise
                missing.append(problem)
        if len(missing) == len(brokers):
            raise missing[0]

    def _brokers(self) -> builtins.list[str]:
        return sorted(self._admin.cluster.masters(broker=self._broker))

    def _asked(self, broker: str, request: Request, kind: type[T]) -> T:
        return loose_json.decode(self._call(broker, request), kind)

    def _call(self, broker: str, request: Request, body: bytes = b"") -> bytes:
        try:
            return bytes(self._admin.brokers.call(broker, request, body).body)
        except AnswerError as problem:
            if is_unserved(problem):
                raise FixError(_NOT_SERVED.format(broker=broker)) from problem
            raise
