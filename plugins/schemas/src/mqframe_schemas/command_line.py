"""The commands of `mqframe schema`."""

from __future__ import annotations

import json as json_text
from typing import Annotated, Any

import typer
from mqframe_cli.extension import (
    WRONG,
    Json,
    NameServer,
    admin_client,
    ask_first,
    new_app,
    show,
    show_one,
    write_json,
)

from mqframe.core.errors import FixError
from mqframe_schemas.admin import SchemasAdmin
from mqframe_schemas.formats.chosen import source_named
from mqframe_schemas.rules.history import SchemaHistory, SchemaVersion

app = new_app(help="Schemas of topics: set, show, compare and delete them.")
Topic = Annotated[str, typer.Argument(help="Name of the topic.")]
Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="JSON Schema, Avro schema, or descriptor set of protoc; or module:Class of a pydantic model, …",
    ),
]
Format = Annotated[str, typer.Option(help="json, avro or protobuf; found by itself else.")]
MessageType = Annotated[str, typer.Option("--message", help="Message type of a descriptor set: shop.Order.")]
RuleName = Annotated[
    str,
    typer.Option("--rule", help="backward, forward, full or none, from now on; as before else."),
]


@app.command("set")
def set_schema(
    topic: Topic,
    file: Source,
    format: Format = "",
    message: MessageType = "",
    rule: RuleName = "",
    force: Annotated[
        bool,
        typer.Option("--force", help="Also where it breaks the rule; later ones are compared from here."),
    ] = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Have producers keep to a schema from now on; a new version, unless it was one before."""
    source = source_named(file)
    with admin_client(nameserver) as admin:
        history = SchemasAdmin(admin).set(
            topic, source, format=format, message=message, rule=rule, force=force
        )
    show_one(_row(history), as_json=json)


@app.command("show")
def show_schema(
    topic: Topic,
    version: Annotated[int | None, typer.Option(min=1, help="This version; the one in force else.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="One line for each version.")] = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Show the schema of a topic."""
    with admin_client(nameserver) as admin:
        history = SchemasAdmin(admin).history(topic)
    if all_:
        latest = history.head.latest if history.head is not None else 0
        rows = [_version_row(each, latest) for each in history.versions]
        show(rows, as_json=json, empty=f"topic {topic} never had a schema")
        return
    found = history.needed() if version is None else history.version(version)
    if found is None:
        known = ", ".join(str(each.number) for each in history.versions) or "there is none"
        raise FixError(f"topic {topic} has no version {version} of its schema; versions: {known}")
    if json:
        write_json({**_row(history), "version": found.number, "schema": _schema(found)})
        return
    show_one({**_row(history), "version": found.number}, as_json=False)
    typer.echo(json_text.dumps(_schema(found), indent=2, ensure_ascii=False))


@app.command("list")
def list_schemas(nameserver: NameServer = "", json: Json = False) -> None:
    """List the topics that have a schema."""
    with admin_client(nameserver) as admin:
        found = SchemasAdmin(admin).topics()
    rows = [{"topic": topic, "version": head.latest, "rule": str(head.rule)} for topic, head in found.items()]
    show(rows, as_json=json, empty="no topic has a schema")


@app.command()
def check(
    topic: Topic,
    file: Source,
    format: Format = "",
    message: MessageType = "",
    rule: RuleName = "",
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Say what a schema would break, with exit code 2 if anything; changes nothing."""
    source = source_named(file)
    with admin_client(nameserver) as admin:
        found = SchemasAdmin(admin).check(topic, source, format=format, message=message, rule=rule)
    show([{"problem": each} for each in found], as_json=json, empty="it may follow; nothing breaks")
    if found:
        raise typer.Exit(WRONG)


@app.command()
def delete(
    topic: Topic,
    versions: Annotated[
        bool,
        typer.Option("--versions", help="Forget all versions, too: older messages cannot be read by them."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Ask no schema of messages to a topic any more."""
    with admin_client(nameserver) as admin:
        schemas = SchemasAdmin(admin)
        if not yes:
            count = len(schemas.history(topic).versions)
            gone = f"all {count} versions are forgotten" if versions else f"its {count} versions are kept"
            ask_first(
                f"schema of topic {topic}: {gone}", f"Delete the schema of {topic}?", "nothing was deleted"
            )
        schemas.delete(topic, versions=versions)
    show_one({"topic": topic, "deleted": True, "versions": versions}, as_json=json)


def _row(history: SchemaHistory) -> dict[str, Any]:
    found, head = history.latest, history.head
    return {
        "topic": history.topic,
        "version": 0 if found is None else found.number,
        "format": "" if found is None else found.format,
        "name": "" if found is None else found.name,
        "rule": "" if head is None else str(head.rule),
    }


def _version_row(version: SchemaVersion, latest: int) -> dict[str, Any]:
    return {
        "version": version.number,
        "format": version.format,
        "name": version.name,
        "characters": len(version.text),
        "in_force": version.number == latest,
    }


def _schema(version: SchemaVersion) -> Any:
    """What people can read of it: JSON, and for Protocol Buffers the files of the descriptor set."""
    if version.format != "protobuf":
        return json_text.loads(version.text)
    from mqframe_schemas.formats.protobuf_bodies import described

    return described(version.text)
