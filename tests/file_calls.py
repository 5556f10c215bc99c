"""Calls of the operating system that a test watches, or lets fail, for files of its own alone.

Others in the process may be at work meanwhile: a cluster that several tests share writes in the background.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def instead(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, act: Callable[..., Any]) -> None:
    """Have `act(call, descriptor, …)` stand for `os.<name>` where the descriptor is of a file in `folder`.

    `call` is the function itself; it is all that is done for files elsewhere.
    """
    call = getattr(os, name)

    def chosen(descriptor: int, *words: Any) -> Any:
        if Path(os.readlink(f"/proc/self/fd/{descriptor}")).is_relative_to(folder):
            return act(call, descriptor, *words)
        return call(descriptor, *words)

    monkeypatch.setattr(os, name, chosen)


def fails(number: int) -> Callable[..., Any]:
    """What raises the error of this number instead."""

    def raising(*words: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return raising
