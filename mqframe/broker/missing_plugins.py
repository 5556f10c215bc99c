"""Requests that a plugin would serve which is not installed: refused with the line that installs it."""

from __future__ import annotations

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.requests.serving import Call, Handler
from mqframe.core.requests.unserved import not_supported
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.missing import missing_requests


def refusals_of_missing(plugins: PluginManager) -> dict[int, Handler]:
    """A handler for each request whose plugin is not installed; one that is blocked is as if unknown."""
    return {code: _refusing(code, why) for code, why in missing_requests(plugins.not_installed()).items()}


def _refusing(code: int, why: str) -> Handler:
    def refuse(call: Call) -> None:
        raise Refusal(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f"{not_supported(code)}: {why}")

    return refuse
