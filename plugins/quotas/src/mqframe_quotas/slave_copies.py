"""What slaves keep of quotas: those that operators set at their master."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.hooks.interfaces import BrokerPort, CopiedTable, SavedTable, SlaveCopies
from mqframe_quotas.bodies import QuotaTable
from mqframe_quotas.requests import GetKeptQuotas
from mqframe_quotas.table import KeptQuotas


def saved_quotas(kept: KeptQuotas) -> SavedTable:
    """`kept` as brokers save them."""
    return SavedTable("quotas.json", QuotaTable, kept, at_once=True)


class QuotaCopies(SlaveCopies):
    """The quotas of the master. A slave limits nothing by them: it has them for when it is master itself."""

    def __init__(self, port: BrokerPort) -> None:
        self._kept = KeptQuotas()

    def tables(self) -> Sequence[CopiedTable]:
        """Those that operators set."""
        return (CopiedTable(GetKeptQuotas(), saved_quotas(self._kept), self._take),)

    def _take(self, table: QuotaTable) -> None:
        if table != self._kept.dump():
            self._kept.load(table)
            self._kept.changes += 1
