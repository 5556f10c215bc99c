"""Signs requests with an access key (source: AclClientRPCHook.java)."""

from mqframe.hooks.specs import Factories, hookimpl


@hookimpl
def register_rpc_hooks() -> Factories:
    """None yet."""
    return {}
