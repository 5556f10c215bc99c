"""`mqframe apply FILE`, `mqframe definitions export` and `mqframe definitions kinds`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from mqframe_cli.extension import (
    Json,
    NameServer,
    admin_client,
    ask_first,
    is_standard_output,
    new_app,
    output_file,
    show,
)

from mqframe.core.errors import SettingError

if TYPE_CHECKING:
    from mqframe_definitions.planning import Change

app = new_app(help="Write a cluster as a file, and say what may stand in it.")
STANDARD_INPUT: Final = Path("-")


def apply(
    file: Annotated[Path, typer.Argument(help="TOML file; - reads standard input.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan, and change nothing.")] = False,
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Delete what is not in the file, of the kinds that are in it."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before something is deleted.")] = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Make a cluster as a file says: topics, groups, users, schedules, settings.

    Applied again it changes nothing. What the file does not state of something stays as it is. Each change is
    shown once it is made.
    """
    from mqframe_definitions.cluster import applied, plan
    from mqframe_definitions.document import read_document
    from mqframe_definitions.kind import installed_kinds
    from mqframe_definitions.planning import Action

    with admin_client(nameserver) as admin:
        kinds = installed_kinds(admin)
        specs = {name: kind.Spec for name, kind in kinds.items()}
        stated = read_document(_text(file), specs, str(file))
        changes = plan(kinds, stated, prune=prune)
        deleted = [f"{each.kind}.{each.name}" for each in changes if each.action is Action.DELETE]
        if deleted and not (yes or dry_run):
            ask_first(
                f"not in {file}: {', '.join(deleted)}",
                f"Delete {len(deleted)} and make {len(changes) - len(deleted)} other changes?",
                "nothing was changed",
            )
        made: list[Change] = []
        try:
            made += changes if dry_run else []
            for change in () if dry_run else applied(kinds, changes):
                made.append(change)
        finally:
            show(_rows(made), as_json=json, empty="nothing to change")


@app.command()
def export(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write. [default: standard output]")
    ] = None,
    nameserver: NameServer = "",
) -> None:
    """Write the topics, groups, users, schedules and live settings of a cluster as a file for `apply`."""
    from mqframe_definitions.cluster import exported
    from mqframe_definitions.document import write_document
    from mqframe_definitions.kind import installed_kinds

    with admin_client(nameserver) as admin:
        text = write_document(exported(installed_kinds(admin)))
    if output is None or is_standard_output(output):
        typer.echo(text, nl=False)
    else:
        with output_file(output) as stream:
            stream.write(text.encode())


@app.command()
def kinds(json: Json = False) -> None:
    """List what may stand in a file: kinds, their fields and defaults."""
    import msgspec

    from mqframe_definitions.kind import kind_classes

    rows = [
        {"kind": name, "field": field, "default": msgspec.json.encode(getattr(kind.Spec(), field)).decode()}
        for name, kind in kind_classes().items()
        for field in kind.Spec.__struct_encode_fields__
    ]
    show(rows, as_json=json)


def _text(file: Path) -> str:
    try:
        data = sys.stdin.buffer.read() if file == STANDARD_INPUT else file.read_bytes()
        return data.decode()
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingError(f"{file} cannot be read: {problem}") from None


def _rows(changes: Sequence[Change]) -> list[dict[str, Any]]:
    return [
        {
            "action": str(each.action),
            "kind": each.kind,
            "name": each.name,
            "fields": {field: f"{old} -> {new}" for field, (old, new) in each.fields.items()},
        }
        for each in changes
    ]
