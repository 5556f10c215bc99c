"""What went wrong, for operators."""

from __future__ import annotations

from mqframe.core.os_errors import told


def in_words(problem: Exception) -> str:
    """What the operating system refused with what to do about it, and what any other error says of itself."""
    return told(problem) if isinstance(problem, OSError) else str(problem)
