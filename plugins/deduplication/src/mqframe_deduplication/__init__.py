"""A broker service that stores what is sent twice with one idempotence key once."""

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_deduplication.options import DeduplicationOptions
from mqframe_deduplication.service import Deduplication

__all__ = ["Deduplication", "DeduplicationOptions", "register_broker_services"]


@hookimpl
def register_broker_services() -> Factories:
    """The service of brokers."""
    return {"deduplication": Deduplication}
