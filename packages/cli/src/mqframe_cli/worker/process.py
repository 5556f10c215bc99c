"""One worker process: imports the consumer of an application and runs it until SIGTERM.

Started by the supervisor as `python -m mqframe_cli.worker.process`; ends when that is gone.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import inspect
import logging
import os
import signal
import sys
import traceback
from difflib import get_close_matches
from typing import Any, Final

from mqframe import log
from mqframe.core.errors import FixError, MqframeError
from mqframe_cli.commands import WRONG, exit_code, report
from mqframe_cli.processes.parent import end_with_supervisor

MODE_VARIABLE: Final = "MQFRAME_CONSUMER_MODE"


def load(target: str) -> Any:
    """The consumer that `target` names, "module:attribute": one, or a function that makes one.

    Raises `FixError` for what is not there or cannot be run, and whatever the application's code raises.
    """
    module_name, colon, path = target.partition(":")
    if not (module_name and colon and path):
        raise FixError(f"{target!r} is no module:attribute, for example shop.workers:consumer")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as problem:
        missing = problem.name or ""
        if module_name != missing and not module_name.startswith(f"{missing}."):
            raise
        raise FixError(f"there is no module {missing} for {target!r} in {sys.path[0]} or installed") from None
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            runnable = [name for name, value in vars(module).items() if _can_run(value)]
            near = get_close_matches(part, runnable, n=1) or runnable
            hint = f"; it has {', '.join(near)}" if near else "; nothing in it can be run"
            raise FixError(f"{module_name} has no {part}{hint}")
        found = getattr(found, part)
    if not _can_run(found) and callable(found):
        found = found()
    if not _can_run(found):
        raise FixError(
            f"{target} is a {type(found).__qualname__}, no consumer with run(): a PushConsumer,"
            " an AsyncPushConsumer, or a function that returns one"
        )
    return found


def load_in_mode(target: str, mode: str) -> Any:
    """The same, where the consumers that are made from a configuration meanwhile get at messages by `mode`.

    Raises `FixError` for one that was made with another mode.
    """
    os.environ[MODE_VARIABLE] = mode
    consumer = load(target)
    made = getattr(consumer, "mode", "")
    if made != mode:
        raise FixError(
            f"{target} has the mode {made!r}: --mode {mode} counts for a consumer made by from_config that"
            f' says no other; else write mode="{mode}" where it is made'
        )
    return consumer


def run(consumer: Any) -> None:
    """Run `consumer` until SIGTERM, or until it ends by itself."""
    if inspect.iscoroutinefunction(consumer.run):
        asyncio.run(consumer.run())
    else:
        consumer.run()


def main(words: list[str]) -> int:
    """Run what the words of the command line name; the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--app-dir", required=True)
    parser.add_argument("--log-level", required=True)
    parser.add_argument("--log-json", action="store_true")
    parser.add_argument("--mode", default="")
    options = parser.parse_args(words)
    # Ctrl-C in the middle of an import is no failure; the consumer handles signals once it runs.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    end_with_supervisor()
    sys.path.insert(0, options.app_dir)
    try:
        consumer = load_in_mode(options.target, options.mode) if options.mode else load(options.target)
        if not (logging.getLogger().handlers or logging.getLogger(log.ROOT).handlers):
            log.show(json=options.log_json, level=options.log_level.upper())
        run(consumer)
    except MqframeError as problem:
        report(problem, as_json=options.log_json)
        return exit_code(problem)
    except Exception:  # the application's own code: its author wants to see where
        traceback.print_exc()
        return WRONG
    return 0


def _can_run(value: object) -> bool:
    return not inspect.isclass(value) and callable(getattr(value, "run", None))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
