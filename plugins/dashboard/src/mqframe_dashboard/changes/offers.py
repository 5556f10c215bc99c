"""Links to changes, which stand on the pages of what they change."""

from __future__ import annotations

from mqframe_dashboard.pages.letters import FILTER
from mqframe_dashboard.query import Query
from mqframe_dashboard.view import Link, link


def offers(path: str, query: Query, *, signed_in: bool) -> list[Link]:
    """What may be done from the page at `path`; by somebody who is not `signed_in` it is read alone."""
    found = []
    if path == "/letters" and query.text("group"):
        kept = {name: query.text(name) for name in ("group", *FILTER) if query.text(name)}
        found += [link("export", "Export", **kept), link("choose", "Export some…", **kept)]
    return found + _changes(path, query) if signed_in else found


def _changes(path: str, query: Query) -> list[Link]:
    name, group = query.text("name"), query.text("group")
    if path == "/letters" and group:
        kept = {key: query.text(key) for key in FILTER if query.text(key)}
        return [
            link("resend", "Send again…", group=group, **kept),
            link("letters-open", "Open or close…", group=group),
        ]
    if path == "/topics":
        return [link("topic-create", "Create a topic…")]
    if path == "/topic":
        return [
            link("message-send", "Send a test message…", topic=name),
            link("topic-change", "Change…", name=name),
            link("topic-delete", "Delete…", name=name),
        ]
    if path == "/messages":
        topic = {"topic": query.text("topic")} if query.text("topic") else {}
        return [link("message-send", "Send a test message…", **topic)]
    if path == "/groups":
        return [link("group-create", "Create a group…")]
    if path == "/group":
        return [
            link("offsets", "Reset offsets…", group=name),
            link("group-change", "Change…", name=name),
            link("group-delete", "Delete…", name=name),
        ]
    if path == "/configuration" and name:
        return [link("setting", "Change a setting…", name=name, id=query.text("id") or "0")]
    return []
