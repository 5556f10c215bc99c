"""Apache's broker with access control: what its file says, and the administrator that it begins with."""

from __future__ import annotations

from typing import Any

ADMIN = {"access_key": "rocketmq", "secret_key": "12345678"}
# Sources: AuthConfig.java, the defaults of its providers.
GUARDED = """\
authenticationEnabled=true
authenticationProvider=org.apache.rocketmq.auth.authentication.provider.DefaultAuthenticationProvider
authenticationMetadataProvider=org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider
initAuthenticationUser={"username":"rocketmq","password":"12345678"}
innerClientAuthenticationCredentials={"accessKey":"rocketmq","secretKey":"12345678"}
authorizationEnabled=true
authorizationProvider=org.apache.rocketmq.auth.authorization.provider.DefaultAuthorizationProvider
authorizationMetadataProvider=org.apache.rocketmq.auth.authorization.provider.LocalAuthorizationMetadataProvider
"""


def signed(**change: str) -> dict[str, Any]:
    """What has a client of ours sign as the administrator, but for `change`."""
    return {"rpc_hooks": [("acl", {**ADMIN, **change})]}
