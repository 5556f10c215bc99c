"""The broker service `index`: messages are found by their keys and unique ids."""

from __future__ import annotations

from mqframe.hooks.interfaces import BrokerPort, BrokerService
from mqframe.hooks.specs import Factories, hookimpl
from mqframe_index.settings import IndexSettings
from mqframe_index.store.indexing import FileIndexing


class IndexService(BrokerService):
    """Brings the index; the broker feeds it, and asks it what operators ask the broker."""

    Settings = IndexSettings
    KeyIndexing = FileIndexing

    def __init__(self, port: BrokerPort) -> None:
        super().__init__()


@hookimpl
def register_broker_services() -> Factories:
    """`index`."""
    return {"index": IndexService}
