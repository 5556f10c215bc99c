"""The broker service `quotas`: keeps what operators set, and has all requests keep to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.measuring.family import Metric
from mqframe.core.requests.fields import NoHeader
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Handler, serves
from mqframe.hooks.interfaces import BrokerPort, BrokerService, SavedTable
from mqframe.hooks.specs import Factories, hookimpl
from mqframe_quotas.bodies import QuotaLeft, QuotaState, QuotaStates, QuotaTable
from mqframe_quotas.limiting import Limiting
from mqframe_quotas.measured import families
from mqframe_quotas.path import QuotaPath
from mqframe_quotas.requests import DeleteQuota, ListQuotas, SetQuota, ShowQuota
from mqframe_quotas.rules.book import Book
from mqframe_quotas.rules.limits import KINDS, Quota, problem_of, read_lines
from mqframe_quotas.settings import QuotaSettings
from mqframe_quotas.table import KeptQuotas


class Quotas(BrokerService):
    """Limits sends, reads and connections by user, address, topic and group.

    What would pass a limit is not done: a send is refused as busy, with when to come again, and is not
    stored; a read is held until it may have something. Each broker counts for itself.
    """

    Settings = QuotaSettings

    def __init__(self, port: BrokerPort) -> None:
        self._port = port
        self._settings = port.settings(QuotaSettings)
        self._seen: QuotaSettings | None = None
        self._book = Book(self._settings.current.payers_max)
        self._kept = KeptQuotas(self._renew)
        self._limiting = Limiting(port, self._book, self._stands, lambda: self._settings.current)

    def tables(self) -> Sequence[SavedTable]:
        """What operators set."""
        return (SavedTable("quotas.json", QuotaTable, self._kept, at_once=True),)

    def around(self, handlers: Mapping[int, Handler], path: Any) -> tuple[Mapping[int, Handler], Any]:
        """Have those heed quotas that these are about; `path` is taken while there are none."""
        return self._limiting.around(handlers), None if path is None else QuotaPath(path, self._stands)

    def connection_closed(self, peer: Peer) -> None:
        """Nothing of it counts any more."""
        self._limiting.closed(peer)

    def answer_waiting(self) -> None:
        """Answer the reads that are held."""
        self._limiting.held.answer_all()

    async def stop(self) -> None:
        """Hold nothing further."""
        self._limiting.held.cancel()

    def abandon(self) -> None:
        """Let go of what is held."""
        self._limiting.held.cancel()

    def counters(self) -> Mapping[str, str]:
        """How many quotas there are, how often one was used up, and how many reads wait for theirs."""
        self._stands()
        counted = [each for _, each, _ in self._book.counted()]
        return {
            "quotas": str(len(counted)),
            "quotasThrottled": str(sum(sum(each.throttled.values()) for each in counted)),
            "quotasHeldReads": str(len(self._limiting.held)),
        }

    async def metrics(self) -> Sequence[Metric]:
        """Of each quota: its limits, what was used and what is in use, and how often it was used up."""
        self._stands()
        return families(self._book.counted())

    @serves(SetQuota)
    def set_quota(self, fields: SetQuota, call: Call) -> NoHeader:
        """Set the quota that the body describes. Raises `Refusal` 29."""
        quota = call.body(Quota)
        problem = problem_of(quota)
        most, kept = self._settings.current.quotas_max, self._kept.quotas
        if not problem and quota.key not in kept and len(kept) >= most:
            problem = (
                f"broker {self._port.identity.name} has {len(kept)} quotas, no more are allowed"
                " (quotas.quotas_max); delete some"
            )
        if problem:
            raise Refusal(ResponseCode.INVALID_PARAMETER, problem)
        self._kept.put(quota)
        return NoHeader()

    @serves(ListQuotas)
    def list_all(self, fields: ListQuotas, call: Call) -> QuotaStates:
        """All quotas in force, by kind and name."""
        self._stands()
        broker = self._port.identity.name
        return QuotaStates(
            quotas=[
                QuotaState(
                    quota=quota,
                    broker=broker,
                    kept=quota.key in self._kept.quotas,
                    used=dict(counted.used),
                    throttled=dict(counted.throttled),
                    in_use=in_use,
                )
                for quota, counted, in_use in self._book.counted()
            ]
        )

    @serves(ShowQuota)
    def show(self, fields: ShowQuota, call: Call) -> QuotaLeft:
        """What one may have at this moment. Raises `Refusal` 29."""
        if fields.kind not in KINDS:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"quotas are for {', '.join(KINDS)}; {fields.kind!r} is none of these",
            )
        self._stands()
        return QuotaLeft(
            broker=self._port.identity.name,
            quota=self._book.find(fields.kind, fields.name),
            left=self._book.left(fields.kind, fields.name, self._port.clock.monotonic()),
        )

    @serves(DeleteQuota)
    def delete(self, fields: DeleteQuota, call: Call) -> NoHeader:
        """Delete one that was set. Raises `Refusal` 22."""
        if not self._kept.remove(fields.kind, fields.name):
            known = ", ".join(f"{kind}:{name}" for kind, name in sorted(self._kept.quotas)) or "there is none"
            raise Refusal(
                ResponseCode.QUERY_NOT_FOUND,
                f"no quota of {fields.kind} {fields.name} was set at broker {self._port.identity.name}; those"
                f" that were: {known}; what settings say is changed there (quotas.limits)",
            )
        return NoHeader()

    def _stands(self) -> bool:
        """Whether there is any quota, by the settings as they are now."""
        if self._settings.current is not self._seen:
            self._renew()
        return self._book.stands

    def _renew(self) -> None:
        """Have the quotas in force be those that were set, and those of the settings besides."""
        self._seen = current = self._settings.current
        quotas = {**read_lines(current.limits), **self._kept.quotas}
        self._book.change(quotas, current.burst_ms / 1000, self._port.clock.monotonic())
        self._limiting.held.look()


@hookimpl
def register_broker_services() -> Factories:
    """`quotas`."""
    return {"quotas": Quotas}
