"""The file of contexts: clusters by name, with their name servers and what connecting to them takes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec
import typer

from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import SettingError
from mqframe.core.printable import shortened
from mqframe_cli.text.output_file import output_file

VARIABLE: Final = "MQFRAME_CONTEXTS"
_OWNER_ONLY: Final = 0o600
_SHOWN: Final = 500


class Context(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """One cluster. `nameserver`: "host:port;host:port"; `settings`: by path, "net.tls" or
    "plugins.acl.access_key".
    """

    nameserver: str
    settings: dict[str, str] = {}


class Contexts(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """What the file holds. `current`: the name of the context in use, or ""."""

    contexts: dict[str, Context] = {}
    current: str = ""

    def named(self, name: str) -> Context:
        """The context called `name`. Raises `SettingError`."""
        if name not in self.contexts:
            near = did_you_mean(name, self.contexts) or "mqframe context list shows those that there are"
            raise SettingError(f"there is no context {name}; {near}")
        return self.contexts[name]


def contexts_path() -> Path:
    """Where contexts are: what MQFRAME_CONTEXTS says, or contexts.json in the user's config directory."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else Path(typer.get_app_dir("mqframe")) / "contexts.json"


def read_contexts(path: Path) -> Contexts:
    """The contexts in `path`; none where there is no such file. Raises `SettingError`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Contexts)
    except FileNotFoundError:
        return Contexts()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise SettingError(f"contexts in {path} cannot be read: {shortened(str(problem), _SHOWN)}") from None


def write_contexts(path: Path, contexts: Contexts) -> None:
    """Replace `path` as a whole; only its owner can read it. Raises `SettingError`."""
    text = msgspec.json.format(msgspec.json.encode(contexts), indent=2) + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with output_file(path, _OWNER_ONLY) as file:
            file.write(text)
    except OSError as problem:
        raise SettingError(f"contexts cannot be written to {path}: {problem}") from None
