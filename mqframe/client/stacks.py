"""What all threads and tasks of this process do at the moment, for operators (UtilAll.jstack)."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from types import FrameType
from typing import Final

TEXT_CHARACTERS_MAX: Final = 1 << 20
"""Longest text that goes over the wire."""
_TASKS_MAX: Final = 256


def stacks() -> str:
    """One paragraph a thread and a task of the running loop, innermost frame first, as Java writes them."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = [
        _paragraph(names.get(number, "unknown"), f"TID: {number} STATE: RUNNABLE", _frames(frame))
        for number, frame in sys._current_frames().items()  # the documented way to other threads' frames
    ]
    for task in list(asyncio.all_tasks())[:_TASKS_MAX]:
        frames = [line for frame in reversed(task.get_stack()) for line in _frames(frame, deep=False)]
        parts.append(_paragraph(task.get_name(), "TASK STATE: WAITING", frames))
    return "\n".join(parts)[:TEXT_CHARACTERS_MAX]


def _frames(frame: FrameType, *, deep: bool = True) -> list[str]:
    found = traceback.StackSummary.extract(
        traceback.walk_stack(frame) if deep else [(frame, frame.f_lineno)], lookup_lines=False
    )
    return [f"{each.name}({each.filename}:{each.lineno})" for each in found]


def _paragraph(name: str, state: str, frames: list[str]) -> str:
    return "".join(f"{name:<40}{line}\n" for line in [state, *frames])
