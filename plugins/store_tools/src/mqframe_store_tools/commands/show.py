"""`mqframe store show`: what single places of a broker's files say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from mqframe_cli.extension import Json, new_app, show, show_one

app = new_app(help="What single places of the files say: a record, a queue entry, a key, checkpoints.")
Directory = Annotated[Path, typer.Argument(help="Root directory of the store, in which commitlog lies.")]
Topic = Annotated[str, typer.Argument(help="Name of the topic.")]


@app.command()
def record(
    directory: Directory,
    offset: Annotated[int, typer.Argument(help="Commit-log offset, bytes.", min=0)],
    json: Json = False,
) -> None:
    """Show the record that begins at an offset of the log, sound or not."""
    from mqframe_cli.stopped_store import known_store

    from mqframe_store_tools.checking.decoding import record_at

    show_one(record_at(known_store(directory), offset), as_json=json)


@app.command()
def entry(
    directory: Directory,
    topic: Topic,
    queue: Annotated[int, typer.Argument(help="Queue id.", min=0)],
    offset: Annotated[int, typer.Argument(help="Offset in the queue.", min=0)],
    json: Json = False,
) -> None:
    """Show the entry of a consume queue, and where its record lies."""
    from mqframe_cli.stopped_store import known_store

    from mqframe_store_tools.checking.decoding import queue_entry

    show_one(queue_entry(known_store(directory), topic, queue, offset), as_json=json)


@app.command()
def key(
    directory: Directory,
    topic: Topic,
    key: Annotated[str, typer.Argument(help="A key, or a message id.")],
    limit: Annotated[int, typer.Option(help="At most so many.", min=1)] = 64,
    json: Json = False,
) -> None:
    """Show the entries of the index under a key, with slots and places, newest first."""
    from itertools import islice

    from mqframe_cli.stopped_store import known_store
    from mqframe_index.settings import IndexSettings

    from mqframe_store_tools.checking.decoding import index_entries
    from mqframe_store_tools.checking.sizes import with_index_sizes

    layout = known_store(directory)
    settings = with_index_sizes(IndexSettings(), layout)
    sizes = settings.slots, settings.entries
    rows: list[dict[str, Any]] = list(islice(index_entries(layout, sizes, topic, key), limit))
    show(rows, as_json=json, empty="the index has no such key")


@app.command()
def cut(
    file: Annotated[Path, typer.Argument(help="A file of a store's folder cut, OFFSET-N.records.")],
    limit: Annotated[int, typer.Option(help="At most so many.", min=1)] = 64,
    json: Json = False,
) -> None:
    """Show the messages that were cut off a log, in its order, those of the broker's own topics, too."""
    from itertools import islice

    from mqframe_admin.rules.message_rows import message_row

    from mqframe_store_tools.checking.cut_file import cut_messages

    rows = [message_row(message) for message in islice(cut_messages(file), limit)]
    show(rows, as_json=json, empty="no sound record was cut off")


@app.command()
def checkpoint(directory: Directory, json: Json = False) -> None:
    """Show the numbers of the checkpoints, and what the last stop noted."""
    from mqframe_cli.stopped_store import known_store

    from mqframe_store_tools.checking.decoding import checkpoints

    show(list(checkpoints(known_store(directory))), as_json=json, empty="there is none")
