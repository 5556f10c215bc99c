"""What a broker of an elected group knows of its log and group, and has on disk before it acts on it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mqframe.broker.roles.unelected import EPOCHS, REPLICA
from mqframe.core.errors import StoreError
from mqframe.core.os_errors import told
from mqframe.store.files.config_file import ConfigFile
from mqframe_election.rules.history import EpochHistory


class _Known(msgspec.Struct, frozen=True):
    """`store`: an id of this folder; `epoch`: the newest that was heard of; `confirmed`: log offset, bytes,
    that all members were known to have; `boot`: of which boot of the machine; `is_clean`: whether nothing is
    missing that was acknowledged."""

    store: str
    epoch: int = 0
    confirmed: int = 0
    boot: str = ""
    is_clean: bool = True


class ReplicaState:
    """Epochs of the log, and what this replica knows of its group. Reads the files in `directory`, the store.

    `new_store`: an id for a folder that has none yet. Raises `StoreError` when they cannot be read.
    """

    def __init__(self, directory: Path, new_store: str) -> None:
        self._epochs = ConfigFile(directory / EPOCHS)
        self._replica = ConfigFile(directory / REPLICA)
        try:
            self.history = self._epochs.load(EpochHistory.decode) or EpochHistory()
            decode = msgspec.json.Decoder(_Known).decode
            self._known = self._replica.load(decode) or _Known(new_store)
        except OSError as problem:
            raise StoreError(f"what is kept of the group in {directory}: {told(problem)}") from problem

    @property
    def store(self) -> str:
        """The id of this folder."""
        return self._known.store

    @property
    def epoch(self) -> int:
        """The newest epoch that this replica has heard of; it follows no older leader."""
        return max(self._known.epoch, self.history.last_epoch)

    @property
    def confirmed(self) -> int:
        """Log offset, bytes, up to which all members were known to have the log."""
        return self._known.confirmed

    @property
    def is_clean(self) -> bool:
        """Whether the log has all that this replica ever acknowledged."""
        return self._known.is_clean

    def opened(self, boot: str, *, may_lack: bool) -> None:
        """The store was opened in the boot `boot` of its machine. Raises `StoreError`.

        `may_lack`: whether a failure of the machine before takes what was acknowledged: the store was not
        stopped in order, and does not wait for the disk.
        """
        known = self._known
        failed = may_lack and known.boot not in ("", boot)
        self._write(msgspec.structs.replace(known, boot=boot, is_clean=known.is_clean and not failed))

    def heard(self, epoch: int) -> None:
        """There is a leader of `epoch`. On disk when this returns. Raises `StoreError`."""
        if epoch > self.epoch:
            self._write(msgspec.structs.replace(self._known, epoch=epoch))

    def confirmed_to(self, confirmed: int) -> None:
        """All members have the log up to `confirmed`. Raises `StoreError`."""
        if confirmed > self._known.confirmed:
            self._write(msgspec.structs.replace(self._known, confirmed=confirmed))

    def cleaned(self) -> None:
        """Nobody counts on what this replica acknowledged before. Raises `StoreError`."""
        if not self._known.is_clean:
            self._write(msgspec.structs.replace(self._known, is_clean=True))

    def forget_confirmed(self, end: int) -> None:
        """An operator gave up what lies behind `end`. Raises `StoreError`."""
        if self._known.confirmed > end:
            self._write(msgspec.structs.replace(self._known, confirmed=end))

    def record(self, history: EpochHistory) -> None:
        """`history` is that of the log now. On disk when this returns. Raises `StoreError`."""
        if history != self.history:
            _save(self._epochs, history.encode())
            self.history = history

    def _write(self, known: _Known) -> None:
        if known != self._known or not self._replica.path.exists():
            _save(self._replica, msgspec.json.encode(known))
            self._known = known


def _save(file: ConfigFile, content: bytes) -> None:
    try:
        file.save(content)
    except OSError as problem:
        raise StoreError(f"{file.path}: {told(problem)}") from problem
