"""Access keys and TLS: how this side shows who it is, and makes sure whom it talks to."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import attrs

from mqframe import NetSettings
from mqframe.core.errors import SettingError
from mqframe_spark.given import Given

ACCESS_NAMES: Final = (
    "accessKey", "secretKey", "securityToken", "tls", "tlsVerify", "tlsCaFile", "tlsCertFile", "tlsKeyFile",
)  # fmt: skip
"""Options of all that asks name servers and brokers."""

VERIFY: Final = ("full", "chain", "none")


@attrs.frozen
class Access:
    """How name servers and brokers are to be reached. Secrets show in no `repr`.

    `access_key`, `secret_key`, `security_token`: requests are signed with them; empty: they are not. `tls`:
    whether connections use TLS; `tls_verify`: full, chain or none, as of `NetSettings`; the files, PEM, must
    be there under the same path on every machine of the cluster.
    """

    access_key: str = ""
    secret_key: str = attrs.field(default="", repr=False)
    security_token: str = attrs.field(default="", repr=False)
    tls: bool = False
    tls_verify: str = "full"
    tls_ca_file: str = ""
    tls_cert_file: str = ""
    tls_key_file: str = ""

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


def parse_access(table: Given) -> Access:
    """What `table` says. Raises `SettingError` naming the options, and never a secret's value."""
    keys = {name: _text(table, name) for name in ("accessKey", "secretKey", "securityToken")}
    for name, needed in (
        ("accessKey", "secretKey"), ("secretKey", "accessKey"), ("securityToken", "accessKey"),
    ):  # fmt: skip
        if keys[name] and not keys[needed]:
            raise SettingError(f"option {name} needs option {needed}, which is missing")
    tls = table.flag("tls", default=False)
    for name in ("tlsVerify", "tlsCaFile", "tlsCertFile", "tlsKeyFile"):
        if table.get(name) is not None and not tls:
            raise SettingError(f"option {name} = {table.get(name)!r}: has no effect without tls = 'true'")
    files = {name: _file(table, name) for name in ("tlsCaFile", "tlsCertFile", "tlsKeyFile")}
    for name, needed in (("tlsCertFile", "tlsKeyFile"), ("tlsKeyFile", "tlsCertFile")):
        if files[name] and not files[needed]:
            raise SettingError(f"option {name} = {files[name]!r}: needs option {needed}, which is missing")
    return Access(
        access_key=keys["accessKey"],
        secret_key=keys["secretKey"],
        security_token=keys["securityToken"],
        tls=tls,
        tls_verify=_verify(table, files["tlsCaFile"]),
        tls_ca_file=files["tlsCaFile"],
        tls_cert_file=files["tlsCertFile"],
        tls_key_file=files["tlsKeyFile"],
    )


def _text(table: Given, name: str) -> str:
    value = table.get(name)
    if value is None:
        return ""
    if not value.strip():
        raise SettingError(f"option {name}: is empty")
    return value.strip()  # as Apache RocketMQ's clients read theirs


def _file(table: Given, name: str) -> str:
    value = table.get(name)
    if value is None:
        return ""
    path = Path(value.strip()).expanduser().absolute()
    if not value.strip() or not path.is_file():
        raise SettingError(f"option {name} = {value!r}: there is no such file")
    return str(path)


def _verify(table: Given, ca_file: str) -> str:
    value = table.get("tlsVerify")
    if value is None:
        return "full"
    word = value.strip().lower()
    if word not in VERIFY:
        raise SettingError(f"option tlsVerify = {value!r}: must be one of {', '.join(VERIFY)}")
    if word == "none" and ca_file:
        raise SettingError(f"options tlsVerify = 'none' and tlsCaFile = {ca_file!r} contradict each other")
    return word
