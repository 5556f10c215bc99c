"""Signs requests with an access key (source: AclClientRPCHook.java)."""

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_acl.signing import AclHook, AclOptions

__all__ = ["AclHook", "AclOptions", "register_rpc_hooks"]


@hookimpl
def register_rpc_hooks() -> Factories:
    """The hook of clients."""
    return {"acl": AclHook}
