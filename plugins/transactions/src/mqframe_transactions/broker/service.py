"""The broker service `transactions`: messages that wait for what their producer decides."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.hooks.interfaces import BrokerPort, CompositeService, SendRule
from mqframe.hooks.specs import Factories, hookimpl
from mqframe_transactions.broker.checker import TransactionChecker
from mqframe_transactions.broker.cut_back import HalvesCutBack
from mqframe_transactions.broker.half_queue import HalfQueue
from mqframe_transactions.broker.processor import TransactionProcessor
from mqframe_transactions.broker.send_rule import ToHalfTopic
from mqframe_transactions.settings import TransactionSettings


class TransactionService(CompositeService):
    """Half messages, their ends, and the checks of those that stay open."""

    Settings = TransactionSettings
    CutBack = HalvesCutBack

    def __init__(self, port: BrokerPort) -> None:
        processor = TransactionProcessor(
            HalfQueue(port), TransactionChecker(port.clients, port.identity), port
        )
        self._rule = ToHalfTopic(port.topics, port.settings(TransactionSettings))
        super().__init__((processor,))

    def send_rules(self) -> Sequence[SendRule]:
        """A half message goes where no consumer looks."""
        return (self._rule,)


@hookimpl
def register_broker_services() -> Factories:
    """`transactions`."""
    return {"transactions": TransactionService}
