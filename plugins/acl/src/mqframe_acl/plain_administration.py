"""Requests of operators for the accounts of RocketMQ 4.9 (source: AdminBrokerProcessor.java of 4.9)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from mqframe_admin.access.bodies import AclConfig, PlainAccount
from mqframe_admin.access.requests import (
    AclVersionAnswer,
    DeleteAclConfig,
    GetBrokerClusterAclConfig,
    GetBrokerClusterAclInfo,
    UpdateAndCreateAclConfig,
    UpdateGlobalWhiteAddrsConfig,
)

from mqframe.core.errors import Refusal, SettingError
from mqframe.core.requests.serving import Call
from mqframe.core.wire import loose_json
from mqframe.hooks.interfaces import AccessPort, Reply, serves
from mqframe_acl.networks import addresses
from mqframe_acl.plain_file import ACCOUNTS, WHITE, Plain, Table, list_of
from mqframe_acl.plain_files import PlainFiles

UPDATE_FAILED: Final = 209
DELETE_FAILED: Final = 210
WHITE_FAILED: Final = 211
"""What 4.9 answers (source: ResponseCode.java of 4.9); later versions say other things with these numbers."""


class PlainAdministration:
    """Changes the files of accounts, and shows what they say. `port`: whose cluster and broker are told."""

    def __init__(self, files: PlainFiles, port: AccessPort) -> None:
        self._files = files
        self._port = port

    @serves(UpdateAndCreateAclConfig)
    async def put(self, fields: UpdateAndCreateAclConfig, call: Call) -> Reply:
        """Change an account where it stands, or make one in the main file. What is not said stays."""
        key = fields.access_key
        if not fields.secret_key:
            raise Refusal(UPDATE_FAILED, f"account {key} has no secretKey")

        def edit(table: Table) -> None:
            accounts = list_of(table, ACCOUNTS)
            account = next((each for each in accounts if _key(each) == key), {"accessKey": key})
            rest = [each for each in accounts if _key(each) != key]
            table[ACCOUNTS] = [*rest, account | _said(fields)]

        await self._change(UPDATE_FAILED, self._files.current.places.get(key, self._files.main), edit)
        return Reply()

    @serves(DeleteAclConfig)
    async def delete(self, fields: DeleteAclConfig, call: Call) -> Reply:
        """Take an account out of its file."""
        key = fields.access_key
        path = self._files.current.places.get(key)
        if path is None:
            raise Refusal(DELETE_FAILED, f"there is no account {key}")

        def edit(table: Table) -> None:
            table[ACCOUNTS] = [each for each in list_of(table, ACCOUNTS) if _key(each) != key]

        await self._change(DELETE_FAILED, path, edit)
        return Reply()

    @serves(UpdateGlobalWhiteAddrsConfig)
    async def whiten(self, fields: UpdateGlobalWhiteAddrsConfig, call: Call) -> Reply:
        """Replace the addresses of one file from where nobody is asked."""
        path = Path(fields.acl_file_full_path) if fields.acl_file_full_path else self._files.main
        if path not in self._files.current.files:
            raise Refusal(WHITE_FAILED, f"{path} is none of the files of accounts, which request 52 names")

        def edit(table: Table) -> None:
            table[WHITE] = addresses(fields.global_white_addrs)

        await self._change(WHITE_FAILED, path, edit)
        return Reply()

    @serves(GetBrokerClusterAclInfo)
    def versions(self, fields: GetBrokerClusterAclInfo, call: Call) -> AclVersionAnswer:
        """How often each file was changed, and when."""
        files = self._files.current.files
        name, address = self._port.broker
        return AclVersionAnswer(
            loose_json.dumps(_version(files[self._files.main])).decode(),
            name,
            address,
            self._port.cluster,
            loose_json.dumps({str(path): _version(plain) for path, plain in files.items()}).decode(),
        )

    @serves(GetBrokerClusterAclConfig)
    async def show(self, fields: GetBrokerClusterAclConfig, call: Call) -> AclConfig:
        """What the files say, secrets included."""
        found = self._files.current
        shown = AclConfig([], [])
        for path in found.files:
            table = await asyncio.to_thread(self._files.table, path)
            shown.global_white_addrs += list_of(table, WHITE)
            shown.plain_access_configs += [
                _shown(each) for each in list_of(table, ACCOUNTS) if found.places.get(_key(each)) == path
            ]
        return shown

    async def _change(self, code: int, path: Path, edit: Callable[[Table], None]) -> None:
        try:
            await self._files.change(path, edit)
        except (SettingError, ValueError) as problem:
            raise Refusal(code, str(problem)) from None
        except OSError as problem:
            raise Refusal(code, f"nothing was changed, {path} cannot be written: {problem}") from problem


def _key(account: Any) -> str:
    return str(account.get("accessKey", "")).strip() if isinstance(account, dict) else ""


def _said(fields: UpdateAndCreateAclConfig) -> Table:
    """What a request says of an account, in the order in which RocketMQ writes it."""
    said = {
        "secretKey": fields.secret_key,
        "whiteRemoteAddress": fields.white_remote_address,
        "admin": "true" if fields.admin else "false",
        "defaultTopicPerm": fields.default_topic_perm or None,
        "defaultGroupPerm": fields.default_group_perm or None,
        "topicPerms": None if fields.topic_perms is None else _split(fields.topic_perms),
        "groupPerms": None if fields.group_perms is None else _split(fields.group_perms),
    }
    return {name: value for name, value in said.items() if value is not None}


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _version(plain: Plain) -> dict[str, int]:
    return {"counter": plain.changes, "timestamp": plain.changed_ms}


def _shown(account: dict[str, Any]) -> PlainAccount:
    return PlainAccount(
        _key(account),
        account.get("admin") == "true",
        account.get("defaultGroupPerm") or None,
        account.get("defaultTopicPerm") or None,
        list_of(account, "groupPerms") or None,
        str(account.get("secretKey", "")).strip(),
        list_of(account, "topicPerms") or None,
        account.get("whiteRemoteAddress") or None,
    )
