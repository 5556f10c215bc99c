"""What a check of a store found: damage, and what is worth knowing."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

FINDINGS_MAX: Final = 10_000
"""How many are listed; all are counted."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong. `file`: path below the store's root; `offset`: byte of that file; `found` and
    `expected`: in words; `count`: how many neighbours it stands for."""

    file: str
    offset: int
    found: str
    expected: str
    count: int = 1


class Findings:
    """Gathers them. `total`: how many there were, of which `listed` are kept; `notes`: what is no damage.

    `killed`: the broker did not stop in good order, so what is behind the log is caught up at its next start.
    """

    def __init__(self, root: Path, *, killed: bool) -> None:
        self._root = root
        self.killed = killed
        self.listed: list[Finding] = []
        self.total = 0
        self.notes: list[str] = []

    def add(self, path: Path | str, offset: int, found: str, expected: str, count: int = 1) -> None:
        """Something is wrong at byte `offset` of the file at `path`."""
        self.total += 1
        if len(self.listed) < FINDINGS_MAX:
            below = Path(path).relative_to(self._root)
            self.listed.append(Finding(str(below), offset, found, expected, count))

    def in_order(self) -> list[Finding]:
        """Those that are listed, the log's first: what is wrong there shows in what is made from it, too."""
        return sorted(self.listed, key=_order)

    def note(self, text: str) -> None:
        """Something worth knowing that is no damage."""
        if text not in self.notes:
            self.notes.append(text)


def _order(finding: Finding) -> tuple[bool, str, int]:
    return not finding.file.startswith("commitlog"), finding.file, finding.offset
