"""Access keys: signs the requests of clients, and checks on servers who asks and what they may.

Sources: AclClientRPCHook.java, the module auth of Apache RocketMQ 5.3, PlainPermissionManager.java of 4.9.
"""

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_acl.signing import AclHook, AclOptions

__all__ = [
    "AclHook",
    "AclOptions",
    "register_authentications",
    "register_authorizations",
    "register_rpc_hooks",
]


@hookimpl
def register_rpc_hooks() -> Factories:
    """The hook of clients."""
    return {"acl": AclHook}


@hookimpl
def register_authentications() -> Factories:
    """Who asks."""
    return {
        "acl2": "mqframe_acl.acl2:Acl2Authentication",
        "plain_acl": "mqframe_acl.plain_acl:PlainAuthentication",
    }


@hookimpl
def register_authorizations() -> Factories:
    """What they may."""
    return {
        "acl2": "mqframe_acl.acl2:Acl2Authorization",
        "plain_acl": "mqframe_acl.plain_acl:PlainAuthorization",
    }
