"""`mqframe worker`: run a consumer of an application in supervised processes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import typer

from mqframe_cli.logs import LogJson, LogLevel, show_logs

STOP_SECONDS = 40.0
"""Beyond what a consumer waits for its listeners by default (`consumer.stop_seconds`)."""


def worker(
    target: Annotated[
        str, typer.Argument(metavar="MODULE:CONSUMER", help="What to run, as shop.workers:consumer.")
    ],
    workers: Annotated[
        int,
        typer.Option("--workers", "-w", min=1, max=1024, help="Processes; each is a member of the group."),
    ] = 1,
    reload: Annotated[
        bool, typer.Option("--reload", help="Start again when files of the application change.")
    ] = False,
    app_dir: Annotated[
        Path, typer.Option(exists=True, file_okay=False, help="Where the module is found.")
    ] = Path(),
    stop_seconds: Annotated[
        float, typer.Option(min=0.0, help="How long one may take to end before it is killed.")
    ] = STOP_SECONDS,
    mode: Annotated[
        str,
        typer.Option(help="How a consumer made by from_config gets at messages: pull, pop, or keyed."),
    ] = "",
    log_level: LogLevel = "info",
    log_json: LogJson = False,
) -> None:
    """Run a consumer in processes of its own, until SIGTERM or Ctrl-C.

    SIGTERM lets running listeners finish, commits and leaves the group. A process that dies is replaced; one
    that cannot start at all (exit code 2) ends the command.
    """
    show_logs(log_level, as_json=log_json)
    words = [sys.executable, "-m", "mqframe_cli.worker.process", target]
    words += ["--app-dir", os.fspath(app_dir.absolute()), "--log-level", log_level]
    words += ["--log-json"] if log_json else []
    words += ["--mode", mode] if mode else []
    code = asyncio.run(_supervise(words, workers, app_dir.absolute() if reload else None, stop_seconds))
    if code:
        raise typer.Exit(code)


async def _supervise(words: list[str], count: int, watched: Path | None, stop_seconds: float) -> int:
    from mqframe.net.clock import SystemClock
    from mqframe_cli.processes.supervisor import Supervisor
    from mqframe_cli.worker.program import WorkerProgram

    changes = None if watched is None else changes_in(watched)
    workers = [WorkerProgram(n, words, watched=watched is not None) for n in range(1, count + 1)]
    supervisor = Supervisor(workers, SystemClock(), stop_seconds=stop_seconds)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, supervisor.stop)
    following: asyncio.Task[Any] | None = None
    if changes is not None:
        following = asyncio.ensure_future(supervisor.follow(changes))
    try:
        return await supervisor.run()
    finally:
        if following is not None:
            following.cancel()


def changes_in(folder: Path) -> AsyncIterator[object]:
    """The files in `folder` that change, Python and TOML. Raises `FixError` without the package for that."""
    from mqframe.core.errors import FixError

    try:
        from watchfiles import PythonFilter, awatch
    except ModuleNotFoundError:
        raise FixError('--reload needs the package watchfiles: pip install "mqframe[standard]"') from None

    async def names() -> AsyncIterator[str]:
        only = PythonFilter(extra_extensions=[".toml"])
        async for changes in awatch(folder, watch_filter=only):
            yield ", ".join(sorted({name_of(path) for _, path in changes}))

    def name_of(path: str) -> str:
        return os.path.relpath(path, folder)

    return names()
