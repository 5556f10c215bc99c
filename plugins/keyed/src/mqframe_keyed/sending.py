"""The send hook `sharding_key`: messages keep what their queue was chosen by, so that consumers know it."""

from __future__ import annotations

from mqframe.hooks.interfaces import SendHook, SendOperation
from mqframe.hooks.specs import Factories, hookimpl
from mqframe_keyed.keys import KEY_PROPERTY

__all__ = ["KeepsShardingKey", "register_send_hooks"]


class KeepsShardingKey(SendHook):
    """Gives each message that is sent with a `sharding_key` that key, as text, in a property.

    A key that no property can hold stops the send with `IllegalProperty`; an empty one counts as none.
    """

    name = "sharding_key"

    def prepare(self, operation: SendOperation) -> None:
        """Set the property."""
        key = "" if operation.sharding_key is None else str(operation.sharding_key)
        if key:
            operation.set_property(KEY_PROPERTY, key)


@hookimpl
def register_send_hooks() -> Factories:
    """The hook of producers."""
    return {KeepsShardingKey.name: KeepsShardingKey}
