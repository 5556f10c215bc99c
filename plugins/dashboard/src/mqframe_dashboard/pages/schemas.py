"""Schemas of topics: which topics have one, and all versions of one with the rule for changes."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Final

from mqframe_dashboard.asking import Asking, NotFound
from mqframe_dashboard.listing import Listing
from mqframe_dashboard.query import Query
from mqframe_dashboard.sampling import Samples
from mqframe_dashboard.schemas import KeptHead, kept_heads, kept_versions, version_text
from mqframe_dashboard.view import Facts, Links, Note, Page, Part, TableView, Text, link

VERSIONS_SHOWN: Final = 20
"""Versions of one topic whose text is shown, the newest."""
COLUMNS: Final = ("topic", "version", "rule")
RULES: Final = {
    "backward": "who reads by the new version understands what was written by the ones before",
    "forward": "who reads by a version before understands what is written by the new one",
    "full": "both of backward and forward",
    "none": "any change is taken",
}
MISSING: Final = (
    "Schemas are set with mqframe-plugin-schemas, which is not installed here: bodies are not decoded. "
    'pip install "mqframe-plugin-schemas[json,avro,protobuf]"'
)


async def schemas_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """Topics with a schema, or all versions of one."""
    topic = query.text("topic")
    notes: list[Part] = [] if find_spec("mqframe_schemas") else [Note(MISSING)]
    heads = await kept_heads(asking)
    if topic:
        if topic not in heads:
            await asking.check_topic(topic)
            raise NotFound(f"topic {topic} never had a schema; mqframe schema set {topic} FILE gives it one")
        return await _of_topic(asking, topic, heads[topic], notes)
    wanted = Listing("schemas", query, COLUMNS)
    keys: dict[str, Callable[[str], int | str]] = {
        "version": lambda name: heads[name].latest,
        "rule": lambda name: heads[name].rule,
    }
    listed = wanted.listed(heads, str, keys.get(wanted.column))
    rows = [
        {
            "topic": link("schemas", name, topic=name),
            "version": heads[name].latest or "none in force",
            "rule": heads[name].rule,
        }
        for name in listed.rows
    ]
    nothing = (
        "no topic has this in its name"
        if wanted.find
        else "no topic has a schema; mqframe schema set gives one"
    )
    table = TableView("Schemas", rows, nothing, wanted.sorts())
    return Page("Schemas", [*notes, wanted.form(), table, *wanted.around(listed, "topics")])


async def _of_topic(asking: Asking, topic: str, head: KeptHead, notes: list[Part]) -> Page:
    versions = await kept_versions(asking, topic)
    facts = {
        "in force": f"version {head.latest}"
        if head.latest
        else "none: producers are asked for no schema any more",
        "rule": f"{head.rule}: {RULES[head.rule]}" if head.rule in RULES else head.rule,
        "compared with": f"versions from {head.since} on",
        "versions": len(versions),
    }
    parts: list[Part] = [Links([link("topic", f"Topic {topic}", name=topic)]), *notes, Facts("Schema", facts)]
    newest = sorted(versions.items(), reverse=True)
    if head.latest and head.latest not in versions:
        parts.append(Note(f"Name servers have lost version {head.latest}; set it again.", wrong=True))
    for number, version in newest[:VERSIONS_SHOWN]:
        name = f" {version.name}" if version.name else ""
        parts.append(Text(f"Version {number}: {version.format}{name}", version_text(version)))
    if len(newest) > VERSIONS_SHOWN:
        parts.append(Note(f"Only the newest {VERSIONS_SHOWN} of {len(newest)} versions are shown."))
    return Page(f"Schema of {topic}", parts)
