"""The broker service `admin`: answers to operators."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.hooks.interfaces import BrokerPort, BrokerService
from mqframe.hooks.specs import Factories, hookimpl
from mqframe_admin.broker.client_callbacks import ClientCallbackProcessor
from mqframe_admin.broker.configuration import ConfigurationProcessor
from mqframe_admin.broker.groups import AdminGroupProcessor
from mqframe_admin.broker.inspection import InspectionProcessor
from mqframe_admin.broker.resets import ResetProcessor
from mqframe_admin.broker.stats import StatsProcessor
from mqframe_admin.broker.topics import AdminTopicProcessor


class AdminService(BrokerService):
    """Topics, groups, offsets, settings, statistics, connections; slaves show theirs, too."""

    at_slaves = True

    def __init__(self, port: BrokerPort) -> None:
        self._processors = (
            AdminTopicProcessor(port),
            AdminGroupProcessor(port),
            StatsProcessor(port),
            InspectionProcessor(port),
            ResetProcessor(port),
            ClientCallbackProcessor(port),
            ConfigurationProcessor(port),
        )

    def serving(self) -> Sequence[object]:
        """The requests, by subject."""
        return self._processors


@hookimpl
def register_broker_services() -> Factories:
    """`admin`."""
    return {"admin": AdminService}
