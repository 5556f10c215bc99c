"""How far each slot is published, kept beside the files, so that files may be removed by anybody."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from mqframe.core.errors import GiveUpError
from mqframe_spark.durable_file import write_durably
from mqframe_spark.lake.landing import Slot


class SlotEnds:
    """A JSON file at `path`: topic, day, commit-log offset behind the last message that was published."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> dict[Slot, int]:
        """What was kept last; nothing when there is no file. Raises `OSError`, `GiveUpError`."""
        try:
            table = msgspec.json.decode(self._path.read_bytes(), type=dict[str, dict[str, int]])
        except FileNotFoundError:
            return {}
        except msgspec.MsgspecError as problem:
            raise GiveUpError(
                f"{self._path} does not tell what was published: {problem}; when it is deleted, the newest"
                " files tell, which is exact unless some of them were removed"
            ) from problem
        return {Slot(topic, day): end for topic, days in table.items() for day, end in days.items()}

    def save(self, ends: Mapping[Slot, int], log_start: int) -> None:
        """Keep `ends` beyond `log_start`: what the log lost does not come again. Raises `OSError`."""
        table: dict[str, dict[str, int]] = {}
        for slot, end in ends.items():
            if end > log_start:
                table.setdefault(slot.topic, {})[slot.day] = end
        write_durably(self._path, msgspec.json.encode(table))
