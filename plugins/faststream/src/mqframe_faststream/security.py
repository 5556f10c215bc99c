"""FastStream's security objects, in mqframe's terms: TLS, and keys that requests are signed with."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from faststream.security import BaseSecurity, SASLPlaintext

from mqframe import NetSettings
from mqframe_faststream.errors import OptionError


def secured(
    security: BaseSecurity | None, net: NetSettings | None, rpc_hooks: Sequence[object]
) -> tuple[NetSettings | None, tuple[object, ...]]:
    """`net` and `rpc_hooks` with what `security` asks for.

    `SASLPlaintext`: its user is the access key, its password the secret key (RocketMQ's access control).
    Raises `OptionError` for what RocketMQ does not have.
    """
    if security is None:
        return net, tuple(rpc_hooks)
    if type(security) not in (BaseSecurity, SASLPlaintext):
        raise OptionError(
            f"security is a {type(security).__name__}; RocketMQ knows SASLPlaintext (access key, secret key) "
            "and BaseSecurity (TLS alone)"
        )
    if security.ssl_context is not None:
        raise OptionError(
            "security has an ssl_context; mqframe makes its own: use use_ssl=True, and net=NetSettings("
            "tls_ca_file=…, tls_cert_file=…, tls_key_file=…) for certificates"
        )
    if security.use_ssl:
        net = attrs.evolve(net or NetSettings(), tls=True)  # type: ignore[misc]
    if isinstance(security, SASLPlaintext):
        keys = {"access_key": security.username, "secret_key": security.password}
        return net, (*rpc_hooks, ("acl", keys))
    return net, tuple(rpc_hooks)
