"""The record of what was committed: one folder a query, one file a version, the highest number counts."""

from __future__ import annotations

import re
import uuid
from typing import Final

import msgspec

from mqframe.core.errors import GiveUpError
from mqframe_spark.durable_file import TEMPORARY
from mqframe_spark.exact.commit_folder import Folder
from mqframe_spark.exact.rules import ONE_DRIVER, SinkRecord, Superseded

KEEP_VERSIONS: Final = 3
"""Old versions that stay for those who are about to read them."""

_NAME: Final = re.compile(r"(\d{20})\.json")
_TEMPORARY: Final = re.compile(rf"\.(\d{{20}})\.json\.\w+{re.escape(TEMPORARY)}")
_READS: Final = 5
_JSON: Final = msgspec.json.Decoder(SinkRecord)


class _Version(SinkRecord, frozen=True, kw_only=True):
    """As it is in its file. `writer`: random, for two drivers may write the same one at once."""

    writer: str


class CommitRecord:
    """The record in `folder`. Versions are written once, whole, flushed, and by one process only."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def read(self) -> SinkRecord | None:
        """The newest version; `None`: there is none. Raises as `Folder`, `GiveUpError` for a damaged one."""
        for _ in range(_READS):
            versions = self._versions()
            if not versions:
                return None
            name = versions[-1]
            try:
                data = self._folder.read(name)
            except FileNotFoundError:
                continue  # so old that it was removed meanwhile
            return self._decoded(name, data)
        raise GiveUpError("the commit record changes faster than it can be read")

    def publish(self, record: SinkRecord) -> None:
        """Write the version after the one that `record` was made from.

        When it returns the version is on the disk. Raises as `Folder` does, and `Superseded` when somebody
        else wrote that version.
        """
        name = f"{record.version:020d}.json"
        version = _Version(*msgspec.structs.astuple(record), writer=uuid.uuid4().hex)
        created = self._folder.create(name, msgspec.json.encode(version))
        versions = self._versions()
        if created and versions[-1] != name:
            # The name was free because its version is long gone.
            self._folder.remove(name)
            created = False
        if not created:
            raise Superseded(
                f"version {record.version} of the commit record was written by another driver; {ONE_DRIVER}"
            )
        for old in versions[:-KEEP_VERSIONS]:
            self._folder.remove(old)
        for each in self._folder.names():
            found = _TEMPORARY.fullmatch(each)
            if found and int(found[1]) < record.version:
                self._folder.remove(each)

    def erase(self) -> None:
        """Remove all versions."""
        for name in self._versions():
            self._folder.remove(name)

    def _versions(self) -> list[str]:
        return sorted(name for name in self._folder.names() if _NAME.fullmatch(name))

    def _decoded(self, name: str, data: bytes) -> SinkRecord:
        try:
            record = _JSON.decode(data)
        except msgspec.DecodeError as problem:
            raise GiveUpError(f"commit record {name} is damaged: {problem}") from None
        if f"{record.version:020d}.json" != name:
            raise GiveUpError(f"commit record {name} is damaged: it holds version {record.version}")
        return record
