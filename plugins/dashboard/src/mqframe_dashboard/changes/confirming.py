"""Names that users type once more before something goes for good."""

from __future__ import annotations

from mqframe_dashboard.changes.posted import Values
from mqframe_dashboard.form_parts import Input
from mqframe_dashboard.query import BadQuery

FIELD = "confirm"


def confirmation(what: str) -> Input:
    """The input for the name of a topic, a group, …, as `what` says."""
    return Input(FIELD, f"Type the name of the {what} to confirm")


def check_confirmed(values: Values, name: str) -> None:
    """Raise `BadQuery` unless `name` was typed."""
    typed = values.text(FIELD)
    if typed != name:
        raise BadQuery(f"{FIELD}: {typed!r} is not {name!r}; nothing was done")
