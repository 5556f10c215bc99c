"""Keys and addresses of object stores, by the names that Spark's users know from Hadoop.

Hadoop's own configuration lives in the Java process and does not reach a Python sink, so these are options of
the sink. What they leave open the environment says, as obstore reads it: `AWS_ACCESS_KEY_ID`,
`GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_KEY`, and roles of the machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import attrs

from mqframe.core.config.field_types import convert
from mqframe.core.errors import SettingError

_S3_NAMES: Final = (
    "access.key", "secret.key", "session.token", "endpoint", "endpoint.region", "path.style.access",
    "connection.ssl.enabled",
)  # fmt: skip
_AZURE_NAMES: Final = (
    "account.key", "sas.fixed.token", "account.oauth2.client.id", "account.oauth2.client.secret",
    "account.oauth2.client.endpoint",
)  # fmt: skip
_GCS_NAMES: Final = ("fs.gs.auth.service.account.json.keyfile",)
NAMES: Final = (
    *(f"fs.s3a.{name}" for name in _S3_NAMES),
    *(f"fs.azure.{name}" for name in _AZURE_NAMES),
    *_GCS_NAMES,
)
"""All that count. Those of S3 may name a bucket, `fs.s3a.bucket.NAME.access.key`; those of Azure an account
behind them, `fs.azure.account.key.NAME.dfs.core.windows.net`."""
_PREFIXES: Final = ("fs.", "spark.hadoop.")
_KNOWN: Final = re.compile(
    rf"fs\.s3a\.(bucket\..+\.)?({'|'.join(map(re.escape, _S3_NAMES))})"
    rf"|fs\.azure\.({'|'.join(map(re.escape, _AZURE_NAMES))})(\.[a-z0-9]+\.(dfs|blob)\.[a-z.]+)?"
    rf"|{'|'.join(map(re.escape, _GCS_NAMES))}"
)
_AWS_HOST: Final = re.compile(r"s3[.-](?:dualstack\.)?([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com(\.cn)?")
_TENANT: Final = re.compile(r"https://[^/]+/([^/]+)/oauth2/(?:v2\.0/)?token")
_SECRET_VARIABLES: Final = (
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_TOKEN", "AZURE_CLIENT_SECRET",
    "AZURE_STORAGE_CLIENT_SECRET", "GOOGLE_SERVICE_ACCOUNT_KEY",
)  # fmt: skip


class Config(NamedTuple):
    """What a store of obstore is made from.

    `values`: its `config`; `keys`: an `S3Credential`, used in place of all that the environment says.
    """

    values: Any
    keys: Any = None


@attrs.frozen
class ObjectStoreOptions:
    """The options, by name. Their values show in no `repr`."""

    given: tuple[tuple[str, str], ...] = attrs.field(default=(), repr=False)

    def raw(self) -> dict[str, str]:
        """As a user gives them."""
        return dict(self.given)

    def s3(self, bucket: str) -> Config:
        """For `bucket`. Raises `SettingError`."""
        key, secret = (self._s3(bucket, name) for name in ("access.key", "secret.key"))
        if bool(key) != bool(secret):
            there, missing = ("access", "secret") if key else ("secret", "access")
            raise SettingError(
                f"option fs.s3a.{there}.key needs option fs.s3a.{missing}.key, which is missing"
            )
        values: dict[str, Any] = {"aws_conditional_put": "etag"}
        endpoint, region = self._s3(bucket, "endpoint"), self._s3(bucket, "endpoint.region")
        if endpoint:
            if "://" not in endpoint:
                secure = self._flag(bucket, "connection.ssl.enabled", default=True)
                endpoint = f"{'https' if secure else 'http'}://{endpoint}"
            found = _AWS_HOST.fullmatch(endpoint.partition("://")[2].rstrip("/"))
            region = region or (found[1] if found else "")
            if not self._flag(bucket, "path.style.access", default=True):
                values["aws_virtual_hosted_style_request"] = "true"
                endpoint = endpoint.replace("://", f"://{bucket}.", 1)
            values["aws_endpoint"] = endpoint.rstrip("/")
        if region:
            values["aws_region"] = region
        keys = (
            {
                "access_key_id": key,
                "secret_access_key": secret,
                "token": self._s3(bucket, "session.token") or None,
                "expires_at": None,
            }
            if key
            else None
        )
        return Config(values, keys)

    def azure(self, account: str) -> Config:
        """For a container of `account`. Raises `SettingError`."""
        values = {
            "azure_storage_account_key": self._azure("account.key", account),
            "azure_storage_sas_token": self._azure("sas.fixed.token", account),
            "azure_storage_client_id": self._azure("account.oauth2.client.id", account),
            "azure_storage_client_secret": self._azure("account.oauth2.client.secret", account),
        }
        endpoint = self._azure("account.oauth2.client.endpoint", account)
        if endpoint:
            found = _TENANT.fullmatch(endpoint)
            if found is None:
                raise SettingError(
                    f"option fs.azure.account.oauth2.client.endpoint = {endpoint!r}: must be "
                    "https://login.microsoftonline.com/TENANT/oauth2/token"
                )
            values["azure_storage_tenant_id"] = found[1]
        return Config({name: value for name, value in values.items() if value})

    def gcs(self) -> Config:
        """For any bucket."""
        file = self.raw().get(_GCS_NAMES[0])
        return Config({"google_service_account": file} if file else {})

    def secrets(self) -> Iterator[str]:
        """What must show nowhere: keys and tokens, also those of the environment."""
        for name, value in self.given:
            if value and re.search("key|secret|token|client.id", name) and not name.endswith("keyfile"):
                yield value
        yield from filter(None, map(os.environ.get, _SECRET_VARIABLES))

    def _s3(self, bucket: str, name: str) -> str:
        given = self.raw()
        return given.get(f"fs.s3a.bucket.{bucket}.{name}", given.get(f"fs.s3a.{name}", ""))

    def _flag(self, bucket: str, name: str, *, default: bool) -> bool:
        text = self._s3(bucket, name)
        try:
            return bool(convert(text, bool)) if text else default
        except ValueError as problem:
            raise SettingError(f"option fs.s3a.{name} = {text!r}: {problem}") from None

    def _azure(self, name: str, account: str) -> str:
        given, name = self.raw(), f"fs.azure.{name}"
        of_account = (value for key, value in given.items() if key.startswith(f"{name}.{account}."))
        return next(of_account, given.get(name, ""))


NONE: Final = ObjectStoreOptions()
"""The environment says all."""


def parse_object_store_options(given: Mapping[str, str]) -> tuple[ObjectStoreOptions, dict[str, str]]:
    """Those of `given` that are for object stores, and the rest. Raises `SettingError` without a value."""
    found: dict[str, str] = {}
    rest: dict[str, str] = {}
    for name, value in given.items():
        low = name.lower()
        if not low.startswith(_PREFIXES):
            rest[name] = value
            continue
        low = low.removeprefix("spark.hadoop.")
        if not _KNOWN.fullmatch(low):
            raise SettingError(f"unknown option {name}: of Hadoop's options these count: {', '.join(NAMES)}")
        found[low] = value.strip()
    return ObjectStoreOptions(tuple(sorted(found.items()))), rest
