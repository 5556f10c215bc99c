"""Requests of browsers that are turned down, with the status and the title that say why."""

from __future__ import annotations

from mqframe.core.errors import FixError


class Rejection(FixError):
    """Something that this browser, or this user, may not do. `status`: of HTTP; `title`: of the page."""

    def __init__(self, status: int, title: str, said: str, *, wait: int = 0) -> None:
        """`wait`: seconds after which it may be tried again; 0: nothing is told of that."""
        super().__init__(said)
        self.status = status
        self.title = title
        self.wait = wait
