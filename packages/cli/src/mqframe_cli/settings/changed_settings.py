"""What operators changed while a server ran, which counts before all that its next start is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
from mqframe_admin.rules.role_change import CHANGED_ROLE, ChangedRole

from mqframe.broker.role_settings import ROLE_SECTION
from mqframe.broker.settings import BrokerSettings
from mqframe.core.config.configuration import Entry, Resolved
from mqframe.core.config.live import CHANGED, CHANGED_SETTINGS, ChangedSettings, kept, key_of
from mqframe.core.wire import loose_json
from mqframe.nameserver.settings import NameServerSettings
from mqframe.store.files.config_file import ConfigFile
from mqframe.store.files.layout import Layout
from mqframe.store.settings import StoreSettings
from mqframe_cli.settings.configuration import added_kinds, service_kinds


def with_changes(resolved: Resolved) -> list[Entry]:
    """The settings of `resolved` as its servers would use them, the changes that they keep worked in.

    Raises `StoreError` for a file that cannot be read.
    """
    changed = {path: (value, origin) for path, value, origin in _changes(resolved)}
    return [
        attrs.evolve(entry, value=changed[entry.path][0], origin=changed[entry.path][1])
        if entry.path in changed
        else entry
        for entry in resolved.entries
    ]


def _changes(resolved: Resolved) -> Iterator[tuple[str, Any, str]]:
    """Path and value of each setting that was changed, and which file says so, when and by whom."""
    yield from _role(resolved)
    for kinds, file in _files(resolved):
        saved = ConfigFile(file).load(lambda raw: loose_json.decode(raw, ChangedSettings))
        if saved is None:
            continue
        groups, texts, _ = kept([resolved.section(kind) for kind in kinds], saved)
        origins = ChangedSettings(texts, saved.notes).origins(file)
        for group in groups:
            for field in attrs.fields(type(group)):
                if key_of(group, field) in origins:
                    origin = origins[key_of(group, field)]
                    yield f"{group.SECTION}.{field.name}", getattr(group, field.name), origin


def _role(resolved: Resolved) -> Iterator[tuple[str, Any, str]]:
    """The role that an operator gave a broker while it ran, where it counts."""
    if not any(entry.path == "replication.role" for entry in resolved.entries):
        return
    file = Layout(resolved.section(StoreSettings).directory).config / CHANGED_ROLE
    saved = ConfigFile(file).load(lambda raw: loose_json.decode(raw, ChangedRole))
    configured = {entry.path: entry.value for entry in resolved.entries}
    if saved is not None and saved.counts_with(configured["replication.role"], configured["replication.id"]):
        origin = f"{CHANGED}, {file}"
        yield "replication.role", saved.role, origin
        yield "replication.id", saved.broker_id, origin


def _files(resolved: Resolved) -> Iterator[tuple[tuple[type[Any], ...], Path]]:
    """The settings that a server may change, and the file in which it keeps that."""
    sections = {entry.path.partition(".")[0] for entry in resolved.entries}
    if "broker" in sections:
        config = Layout(resolved.section(StoreSettings).directory).config
        role = [kind for kind in added_kinds(resolved) if kind.SECTION == ROLE_SECTION]
        kinds = (BrokerSettings, StoreSettings, *role, *service_kinds(resolved))
        yield kinds, config / CHANGED_SETTINGS
    if "nameserver" in sections and (directory := resolved.section(NameServerSettings).directory) is not None:
        yield (NameServerSettings,), directory / CHANGED_SETTINGS
