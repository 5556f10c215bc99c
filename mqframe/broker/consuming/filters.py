"""Choosing messages by expressions: compiled once, kept by group (source: ConsumerFilterManager.java,
ExpressionForRetryMessageFilter.java).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import FixError, PluginError, Refusal
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.filtering.filter_table import FilterTable
from mqframe.core.filtering.record_choice import RecordChoice
from mqframe.core.filtering.subscription import TAG, Subscription, is_tag_type
from mqframe.core.messages.names import RETRY_PREFIX
from mqframe.core.messages.properties import RETRY_TOPIC
from mqframe.core.storage.record_filter import RecordFilter, record_filter
from mqframe.hooks.interfaces import MessageFilter, Plugins
from mqframe.hooks.interfaces.message_filter import Matches
from mqframe.log import get_logger

log = get_logger("broker")

_COMPILED_MAX = 1024
REMEMBERING = "speedups.verdicts"
"""What makes a filter of records that remembers, of another, its condition, and what that reads: an offer."""


class _Failures:
    """Logs the first time that the filter `what` raises; it does so for any number of messages."""

    __slots__ = ("_seen", "_what")

    def __init__(self, what: str) -> None:
        self._what = what
        self._seen = False

    def __call__(self, problem: Exception) -> None:
        if not self._seen:
            self._seen = True
            log.error(
                "message filter failed; such messages are left out", filter=self._what, exc_info=problem
            )


class Filters:
    """The filter plugins of one broker, and the expressions of its groups in a `table`.

    A plugin is looked for when the first expression of its type comes. `offered`: what services offer.
    """

    def __init__(
        self,
        live: LiveSettings,
        plugins: Plugins,
        clock: Clock,
        offered: Callable[[str], Callable[..., Any] | None] = lambda name: None,
    ) -> None:
        self.table = FilterTable(clock, self._compiles)
        self._live = live
        self._plugins = plugins
        self._offered = offered
        self._kinds: dict[str, MessageFilter] = {}
        self._tags: MessageFilter | None = None
        self._matches = lru_cache(maxsize=_COMPILED_MAX)(self._compile)
        self._records = lru_cache(maxsize=_COMPILED_MAX)(self._compile_for_records)

    def check(self, subscription: SubscriptionData) -> None:
        """Find fault with a subscription.

        Raises `Refusal`: 1 when this broker does not filter by expressions of its type, 23 when it is wrong.
        """
        self.check_length(subscription.sub_string)
        kind = subscription.expression_type
        if kind is None or is_tag_type(kind):
            return
        self._admit(kind)
        self.compiled(kind, subscription.sub_string)

    def check_length(self, expression: str | None) -> None:
        """Raise `Refusal` 23 for an expression that is longer than any may be."""
        limit = self._live.current.expression_chars_max
        if expression is not None and len(expression) > limit:
            raise Refusal(
                ResponseCode.SUBSCRIPTION_PARSE_FAILED,
                f"the expression has {len(expression)} characters, at most {limit} are read "
                "(broker.expression_chars_max)",
            )

    def own(self, kind: str | None, expression: str | None) -> RecordChoice:
        """The filter of a reader that brings its subscription along. Raises `Refusal` as `check` does."""
        self.check_length(expression)
        if kind is None or is_tag_type(kind):
            return RecordChoice((self._tags or self._tag_filter()).codes(expression))
        records = self.compiled(kind, expression)
        self._admit(kind)
        return RecordChoice(None, records)

    def of_group(self, group: str, subscription: Subscription, version: int = 0) -> RecordChoice:
        """The filter of `group` for a topic, by its heartbeats. `version`: the reader's, ms.

        Raises `Refusal`: 27 when the expression was refused, 28 when the reader knows a newer one, 1 when
        this broker does not filter by it.
        """
        if subscription.is_tag:
            if self._tags is None:
                self._tag_filter()
            return RecordChoice(subscription.codes)
        topic, kind = subscription.data.topic, subscription.data.expression_type or ""
        data = self.table.get(topic, group)
        if data is None:
            raise self._missing(group, subscription.data)
        if data.client_version < version:
            raise Refusal(
                ResponseCode.FILTER_DATA_NOT_LATEST,
                f"the expression of group {group} for topic {topic} here has version {data.client_version}, "
                f"the pull is for {version}; a heartbeat must come first",
            )
        self._admit(kind)
        if topic.startswith(RETRY_PREFIX):
            return RecordChoice(None, self._retried(group))
        return RecordChoice(None, self.compiled(data.expression_type, data.expression))

    def compiled(self, kind: str, expression: str | None) -> RecordFilter:
        """A filter of records by `expression`. Raises `Refusal` as `check` does."""
        try:
            if not expression:
                raise FixError(f"a subscription of type {kind} has no expression")
            return self._records(kind, expression)
        except PluginError as problem:
            raise Refusal(ResponseCode.SYSTEM_ERROR, str(problem)) from None
        except FixError as problem:
            raise Refusal(ResponseCode.SUBSCRIPTION_PARSE_FAILED, str(problem)) from None

    def _missing(self, group: str, subscription: SubscriptionData) -> Refusal:
        """Why there is no expression of `group`, though it subscribes by one."""
        why = "a heartbeat must come first"
        try:
            self.compiled(subscription.expression_type or "", subscription.sub_string)
        except Refusal as problem:
            if problem.code != ResponseCode.SUBSCRIPTION_PARSE_FAILED:
                return problem
            why = problem.remark
        return Refusal(
            ResponseCode.FILTER_DATA_NOT_EXIST,
            f"group {group} has no expression for topic {subscription.topic} here: {why}",
        )

    def _admit(self, kind: str) -> None:
        if not self._live.current.property_filter:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR,
                f"filtering by {kind} is not enabled on this broker (enablePropertyFilter)",
            )

    def _retried(self, group: str) -> RecordFilter:
        """Retried messages are filtered as those of the topic that they came from."""

        def matches(properties: Mapping[str, str]) -> bool:
            data = self.table.get(properties.get(RETRY_TOPIC) or "", group)
            return data is None or self._matches(data.expression_type, data.expression)(properties)

        return record_filter(matches, _Failures(f"retried messages of {group}"))

    def _compiles(self, kind: str, expression: str) -> bool:
        try:
            self._matches(kind, expression)
        except FixError as problem:
            # What it says may be somebody's data, and so may what the problem quotes of it.
            reason = type(problem).__name__
            log.warning("expression refused", kind=kind, characters=len(expression), reason=reason)
            return False
        return True

    def _compile_for_records(self, kind: str, expression: str) -> RecordFilter:
        matches = self._matches(kind, expression)
        wanted = record_filter(matches, _Failures(f"{kind}, {len(expression)} characters"))
        names, remembering = self._kind(kind).reads(expression), self._offered(REMEMBERING)
        return wanted if names is None or remembering is None else remembering(wanted, matches, list(names))

    def _tag_filter(self) -> MessageFilter:
        try:
            self._tags = self._kind(TAG)
        except PluginError as problem:
            raise Refusal(ResponseCode.SYSTEM_ERROR, str(problem)) from None
        return self._tags

    def _compile(self, kind: str, expression: str) -> Matches:
        return self._kind(kind).compile(expression)

    def _kind(self, kind: str) -> MessageFilter:
        found = self._kinds.get(kind)
        if found is None:
            found = self._kinds[kind] = self._plugins.create("message_filter", kind)
        return found
