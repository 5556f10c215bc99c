"""What this broker raises beyond the errors of mqframe: they belong to both libraries' families."""

from __future__ import annotations

from faststream.exceptions import SetupError

from mqframe import FixError, RequestTimeout


class OptionError(FixError, SetupError):
    """Options of a broker, subscriber or publisher that make no sense, alone or together."""


class ReplyTimeout(RequestTimeout, TimeoutError):
    """No reply to a request came in time. The handler may or may not have worked on it."""
