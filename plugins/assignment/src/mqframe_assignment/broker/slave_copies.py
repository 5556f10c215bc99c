"""What slaves keep of assignments: how groups read topics."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.hooks.interfaces import BrokerPort, CopiedTable, SavedTable, SlaveCopies
from mqframe_assignment.requests import GetAllMessageRequestMode
from mqframe_assignment.rules.bodies import RequestModeTable
from mqframe_assignment.rules.request_modes import RequestModes


def saved_modes(modes: RequestModes) -> SavedTable:
    """`modes` as brokers save them, in RocketMQ's file."""
    return SavedTable("messageRequestMode.json", RequestModeTable, modes, at_once=True)


class RequestModeCopies(SlaveCopies):
    """The modes of the master. Where the slave runs the service, it answers from them."""

    def __init__(self, port: BrokerPort) -> None:
        served = port.offered("assignment.modes")
        self._modes: RequestModes = RequestModes() if served is None else served()

    def tables(self) -> Sequence[CopiedTable]:
        """How groups read topics."""
        return (CopiedTable(GetAllMessageRequestMode(), saved_modes(self._modes), self._take),)

    def _take(self, table: RequestModeTable) -> None:
        if table != self._modes.dump():
            self._modes.load(table)
            self._modes.changes += 1
