"""Folders in object stores, which write an object only if there is none.

Amazon S3 and its kin take `If-None-Match: *`, Azure the same, Google `x-goog-if-generation-match: 0`; obstore
knows which. An answer that gets lost leaves open whether the object was written, so it is read, and contents
tell whose it is.
"""

from __future__ import annotations

import os
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from mqframe.core.errors import SettingError
from mqframe_spark.object_store_options import ObjectStoreOptions

if TYPE_CHECKING:
    from obstore.store import ObjectStore

    from mqframe_spark.exact.bucket import Bucket

S3_SCHEMES: Final = ("s3", "s3a", "s3n")
SCHEMES: Final = (*S3_SCHEMES, "gs", "abfs", "abfss")
"""Of URLs of object stores; the second and third are Hadoop's names of the first."""
EXTRA: Final = "mqframe-plugin-spark[objectstore]"
PROBE: Final = ".put-if-absent"
"""Name of an object that is there to be refused."""

_TIMEOUT: Final = timedelta(seconds=30)
_RETRY: Final[Any] = {"max_retries": 5, "retry_timeout": timedelta(seconds=60)}
_AZURE: Final = re.compile(r"([^@]+)@([a-z0-9]+)\.(?:dfs|blob)\.([a-z.]+)")
_AZURE_PUBLIC: Final = "core.windows.net"
_ADDRESS_VARIABLES: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


class ObjectFolder:
    """What lies below `path` in a bucket. `root`: where the store is tried out before the first write."""

    def __init__(self, bucket: Bucket, path: str, root: str | None = None) -> None:
        self._bucket = bucket
        self._path = path
        self._root = path if root is None else root

    def names(self) -> list[str]:
        """See `Folder`."""
        return [name for name in self._bucket.names(self._path) if name != PROBE]

    def read(self, name: str) -> bytes:
        """See `Folder`."""
        return self._bucket.read(_joined(self._path, name))

    def create(self, name: str, content: bytes) -> bool:
        """See `Folder`."""
        self._bucket.must_refuse(_joined(self._root, PROBE))
        return self._bucket.create(_joined(self._path, name), content)

    def remove(self, name: str) -> None:
        """See `Folder`; folders are there as long as something lies in them."""
        self._bucket.remove(_joined(self._path, name))

    def below(self, name: str) -> ObjectFolder:
        """See `Folder`."""
        return ObjectFolder(self._bucket, _joined(self._path, name), self._root)


def checked_url(option: str, text: str) -> str:
    """`text`, the URL of a folder in an object store, in the one way of writing it. Raises `SettingError`."""
    scheme, _, rest = text.partition(":")
    scheme = scheme.lower()
    azure = scheme.startswith("abfs")
    authority, _, path = rest.removeprefix("//").partition("/")
    bad = not rest.startswith("//") or not authority or any(sign in rest for sign in "?#")
    if bad or ("@" in authority) is not azure or ":" in authority:
        # What is wrong may be a key.
        form = (
            f"{scheme}://CONTAINER@ACCOUNT.dfs.core.windows.net/FOLDER"
            if azure
            else f"{scheme}://BUCKET/FOLDER"
        )
        raise SettingError(
            f"option {option}: a URL of {scheme}: must be {form}; keys and addresses go into options "
            "fs.… or the environment"
        )
    parts = [part for part in path.split("/") if part]
    if any(part in (".", "..") for part in parts):
        raise SettingError(
            f"option {option} = {text!r}: object stores know no folder '.' or '..'; leave it out"
        )
    return "/".join([f"{'s3' if scheme in S3_SCHEMES else scheme}://{authority}", *parts])


def open_objects(option: str, place: str, options: ObjectStoreOptions) -> ObjectFolder:
    """The folder at `place`, as `checked_url` gives it. Nothing is asked yet. Raises `SettingError`."""
    try:
        from obstore.exceptions import BaseError

        from mqframe_spark.exact.bucket import Bucket, reason
    except ImportError:
        raise SettingError(
            f"option {option} = {place!r}: object stores need the package obstore, on the driver and where "
            f"tasks run: pip install '{EXTRA}'; or give commitPath a folder of a file system"
        ) from None
    path, secrets = _parts(place)[2], tuple(options.secrets())
    try:
        store = _store(option, place, options)
    except (BaseError, OSError, ValueError) as problem:
        raise SettingError(f"option {option} = {place!r}: {reason(problem, secrets)}") from None
    return ObjectFolder(Bucket(store, place, secrets), path)


def _store(option: str, place: str, options: ObjectStoreOptions) -> ObjectStore:
    from obstore import store

    scheme, authority, _ = _parts(place)
    client: Any = {"timeout": _TIMEOUT}
    if scheme == "s3":
        config = options.s3(authority)
        address = config.values.get("aws_endpoint") or next(
            filter(None, map(os.environ.get, _ADDRESS_VARIABLES)), ""
        )
        client["allow_http"] = address.startswith("http://")
        keys: Any = config.keys
        provider = None if keys is None else lambda: keys
        return store.S3Store(
            authority,
            config=config.values,
            client_options=client,
            retry_config=_RETRY,
            credential_provider=provider,
        )
    if scheme == "gs":
        return store.GCSStore(
            authority, config=options.gcs().values, client_options=client, retry_config=_RETRY
        )
    found = _AZURE.fullmatch(authority)
    if found is None:
        raise SettingError(
            f"option {option} = {place!r}: {authority} must be CONTAINER@ACCOUNT.dfs.core.windows.net"
        )
    container, account, suffix = found.groups()
    values: Any = {"azure_storage_account_name": account, **options.azure(account).values}
    if suffix != _AZURE_PUBLIC:
        values["azure_endpoint"] = f"https://{account}.blob.{suffix}"
    return store.AzureStore(container, config=values, client_options=client, retry_config=_RETRY)


def _parts(place: str) -> tuple[str, str, str]:
    scheme, _, rest = place.partition("://")
    authority, _, path = rest.partition("/")
    return scheme, authority, path


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
