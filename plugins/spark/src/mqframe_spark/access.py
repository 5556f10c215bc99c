"""Access keys and TLS: how this side shows who it is, and makes sure whom it talks to."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

from mqframe import NetSettings
from mqframe.core.config.settings import setting, settings
from mqframe.core.errors import SettingError
from mqframe_spark.given import Given, option_names


def _key(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text.strip()  # as Apache RocketMQ's clients read theirs


def _file(text: str) -> str:
    path = Path(text.strip()).expanduser().absolute()
    if not text.strip() or not path.is_file():
        raise ValueError("there is no such file")
    return str(path)


@settings("access", kw_only=False)
class Access:
    """How name servers and brokers are to be reached. Secrets show in no `repr`."""

    access_key: str = setting("", doc="requests are signed in the name of this key", from_conf=_key)
    secret_key: str = setting("", doc="requests are signed with it", from_conf=_key, secret=True)
    security_token: str = setting("", doc="the token of a temporary key", from_conf=_key, secret=True)
    tls: bool = setting(False, doc="whether connections use TLS")
    tls_verify: Literal["full", "chain", "none"] = setting(
        "full",
        doc="what must be right about a server's certificate: `full`: trusted, and made out to its address; "
        "`chain`: trusted; `none`: nothing",
    )
    tls_ca_file: str = setting(
        "",
        doc="authorities whose certificates are trusted, by default the system's; this file and the next two "
        "are PEM, and in the same place on every machine",
        from_conf=_file,
    )
    tls_cert_file: str = setting(
        "", doc="certificate that is shown to servers that want one", from_conf=_file
    )
    tls_key_file: str = setting("", doc="its private key", from_conf=_file)

    def client_arguments(self) -> dict[str, Any]:
        """Keyword arguments for any client of mqframe; none where nothing was asked for."""
        arguments: dict[str, Any] = {}
        if self.access_key:
            keys = {"access_key": self.access_key, "secret_key": self.secret_key}
            if self.security_token:
                keys["security_token"] = self.security_token
            arguments["rpc_hooks"] = (("acl", keys),)
        if self.tls:
            arguments["net"] = NetSettings(
                tls=True,
                tls_verify=self.tls_verify,
                tls_ca_file=self.tls_ca_file,
                tls_cert_file=self.tls_cert_file,
                tls_key_file=self.tls_key_file,
            )
        return arguments


OPEN: Final = Access()
"""Without keys and TLS."""
ACCESS_NAMES: Final = option_names(Access)
"""Options of all that asks name servers and brokers."""
_TOGETHER: Final = (
    ("accessKey", "secretKey"), ("secretKey", "accessKey"), ("securityToken", "accessKey"),
)  # fmt: skip


def parse_access(table: Given) -> Access:
    """What `table` says. Raises `SettingError` naming the options, and never a secret's value."""
    values = table.read(Access)
    for name, needed in _TOGETHER:
        if table.get(name) is not None and table.get(needed) is None:
            raise SettingError(f"option {name} needs option {needed}, which is missing")
    for name in ("tlsVerify", "tlsCaFile", "tlsCertFile", "tlsKeyFile"):
        if table.get(name) is not None and not values.get("tls"):
            raise SettingError(f"option {name} = {table.get(name)!r}: has no effect without tls = 'true'")
    for name, needed in (("tlsCertFile", "tlsKeyFile"), ("tlsKeyFile", "tlsCertFile")):
        if table.get(name) is not None and table.get(needed) is None:
            raise SettingError(
                f"option {name} = {table.get(name)!r}: needs option {needed}, which is missing"
            )
    access = Access(**values)
    if access.tls_verify == "none" and access.tls_ca_file:
        raise SettingError(
            f"options tlsVerify = 'none' and tlsCaFile = {access.tls_ca_file!r} contradict each other"
        )
    return access
