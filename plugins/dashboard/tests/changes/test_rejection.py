"""Requests of browsers that are turned down."""

from __future__ import annotations

from mqframe_dashboard.changes.rejection import Rejection

from mqframe.core.errors import FixError


def test_it_says_status_title_and_why():
    problem = Rejection(429, "Too many", "later", wait=3)
    assert isinstance(problem, FixError)
    assert (problem.status, problem.title, str(problem), problem.wait) == (429, "Too many", "later", 3)
