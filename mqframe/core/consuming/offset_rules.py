"""Which offsets groups may commit."""

from __future__ import annotations


def commit_problem(offset: int, end: int) -> str:
    """What is wrong with a group's commit of `offset` to a queue whose end is `end`; empty when nothing is.

    Behind the end nobody can have read: such an offset is of before a power cut, or made up, and the group
    would miss what is stored next. One before the queue's beginning is harmless, and taken.
    """
    if offset < 0:
        return f"offset {offset} is negative"
    return f"offset {offset} is behind the end of the queue, {end}" if offset > end else ""
