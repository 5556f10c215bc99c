"""Permissions of files, as settings give them."""

from __future__ import annotations


def parse_mode(text: str) -> int:
    """The permissions that an octal number like "640" says.

    Raises ValueError for what is none, keeps the owner out, or lets anybody execute.
    """
    mode = int(text, 8)
    if mode & ~0o666 or mode & 0o600 != 0o600:
        raise ValueError(f"{text!r}: give permissions of files as an octal number, for example 600 or 640")
    return mode


def bad_mode(text: str) -> str | None:
    """What is wrong with a setting of permissions; `None` when nothing is."""
    try:
        parse_mode(text)
    except ValueError as problem:
        return str(problem)
    return None
