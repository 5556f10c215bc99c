"""Every error that mqframe raises, by what the caller can do about it.

`MqframeError` is the root. Below it: `RetryError` (the same call may succeed later), `FixError` (the caller
must change a message, a setting or a permission first) and `GiveUpError` (nothing that the caller does helps:
damaged data, a peer that speaks another protocol, a closed object).
"""

from __future__ import annotations

import re

from mqframe.core.codes import ResponseCode
from mqframe.core.printable import shortened

REMARK_CHARACTERS_MAX = 2000
"""So much of a peer's remark is in the message of an error; the error keeps all of it."""


class MqframeError(Exception):
    """Root of all errors of this library.

    `maybe_stored`: whether what a call was to store, or to do, may be done all the same: some try of it had
    left this process, and nobody knows what became of it. `False`: it was not.
    """

    maybe_stored = False


class RetryError(MqframeError):
    """The same call may succeed later."""


class FixError(MqframeError):
    """The caller has to change something before it calls again."""


class GiveUpError(MqframeError):
    """Nothing that the caller can do makes this call succeed."""


class FrameError(GiveUpError):
    """Bytes that are not a frame of this protocol; the connection they came from is closed."""


class HeaderError(FixError):
    """A request whose header fields are missing or of the wrong type. The message names the field."""


class BodyError(FixError):
    """A request body that is not what its code asks for."""


class MessageError(FixError):
    """A message that no broker would take: illegal topic, empty or oversized body, oversized properties."""


class SettingError(FixError):
    """A setting with an unknown name or a bad value. The message names the key and where it came from."""


class FixedSetting(SettingError):
    """A setting that only a restart changes."""


class PluginError(FixError):
    """A strategy that is not installed, named twice, or that failed to load."""


class RouteError(RetryError):
    """No name server knew the topic, or its route holds no queue that can be used."""


class ConnectError(RetryError):
    """A connection could not be opened. Nothing was sent."""


class TlsError(FixError):
    """A connection could not be secured: certificates or settings do not fit. Nothing was sent."""


class ConnectionLost(RetryError):
    """A connection closed while a call was under way. The request may or may not have been served.

    Unless `maybe_stored` is false: the connection was gone before anything was sent.
    """

    maybe_stored = True


class CallTimeout(RetryError):
    """No answer came in time. The request may or may not have been served.

    Unless `maybe_stored` is false: the time was over before anything was sent.
    """

    maybe_stored = True


class RequestTimeout(RetryError):
    """A request was sent, and no reply came in time. The receiver may or may not have worked on it."""

    maybe_stored = True


class RequestFailed(GiveUpError):
    """Whoever got a request failed at it, and said so. The message tells the error and what it was about.

    It will not be tried again there. What was done before the failure may be done.
    """

    maybe_stored = True


class TooMuchInFlight(RetryError):
    """A limit on requests or bytes in flight was reached. Nothing was sent."""


class CoordinationError(RetryError):
    """The engine that brokers of a group choose their leader by did not answer in time, or refused a call.

    `maybe_stored`: what was asked for may have been done, or be done yet: read it back. The message names the
    engine, and what is wrong.
    """

    def __init__(self, message: str, *, maybe_stored: bool = True) -> None:
        super().__init__(message)
        self.maybe_stored = maybe_stored


class BadAnswer(GiveUpError):
    """A peer answered what cannot be read, or what no sound peer answers. The request may have been served.

    The message names the peer and what is wrong.
    """

    maybe_stored = True


class ClosedError(GiveUpError):
    """The object was closed, or is used in a process that forked after it was started."""


class BodyUnreadable(GiveUpError):
    """The body of one message cannot be read: it is damaged, too large, or of no known kind."""


class EncodeError(FixError):
    """A value that a codec cannot make a body of. The message names its type, not its contents."""


class DecodeError(GiveUpError):
    """The body of one message is not what its receiver expects: of another type, damaged, or cut off.

    `problem`: what is wrong; `path`: where in the value, in the codec's own way of writing it, "" where it
    knows of none. Codecs raise it with these two. What reaches an application also has `codec`, `topic`,
    `broker_name`, `queue_id` and `queue_offset`. Nothing of the body itself is in it, as it gets into logs.
    """

    codec = ""
    topic = ""
    broker_name = ""
    queue_id = -1
    queue_offset = -1

    def __init__(self, problem: str, path: str = "") -> None:
        super().__init__(problem, path)
        self.problem = problem
        self.path = path

    @property
    def reason(self) -> str:
        """What is wrong and where in the value, without the place of the message."""
        text = f"{self.problem} at {self.path}" if self.path else self.problem
        return f"{self.codec}: {text}" if self.codec else text

    def __str__(self) -> str:
        if self.queue_offset < 0:
            return self.reason
        place = (
            f"{self.topic} of broker {self.broker_name}, queue {self.queue_id}, offset {self.queue_offset}"
        )
        return f"body of the message in {place}: {self.reason}"


class StoreError(GiveUpError):
    """A store directory that cannot be used: locked by another broker, damaged, of another configuration."""


class StoreUnavailable(StoreError):
    """A store that takes no messages now: its disk is full or fails, or it has stopped."""

    ends_waits = True
    """Whether copies confirm nothing more of what is stored already, and whoever waits for that is told."""


class TooFewReplicas(StoreUnavailable):
    """A store that takes no messages now because fewer copies of it are in sync than have to be."""


class Refusal(MqframeError):
    """A request that a server turns down: the response code and the remark that go back to the caller.

    `code`: a `ResponseCode` or any int that the protocol knows; `remark`: human text.
    """

    def __init__(self, code: int, remark: str) -> None:
        super().__init__(f"{code}: {remark}")
        self.code = code
        self.remark = remark


class AnswerError(MqframeError):
    """A peer answered a call with a code other than success.

    `code`: the response code, `remark`: the peer's whole text, `address`: who answered.
    """

    def __init__(self, code: int, remark: str | None, address: str) -> None:
        said = shortened(remark or "no remark", REMARK_CHARACTERS_MAX)
        super().__init__(f"{address} answered {_code_name(code)}: {said}")
        self.code = code
        self.remark = remark
        self.address = address


class AnswerRetry(AnswerError, RetryError):
    """The peer is busy or not available at the moment."""


class AnswerFix(AnswerError, FixError):
    """The peer refused the request as it stands."""


class AccessError(AnswerFix):
    """The peer does not accept who asks: nobody signed, the key is wrong, or its user may not do this."""

    def __init__(self, code: int, remark: str | None, address: str) -> None:
        super().__init__(code, remark, address)
        said = str(self.args[0]).rstrip(". ")
        self.args = (f"{said}; {_ACCESS_ADVICE}",)


_ACCESS_ADVICE = "check the keys that requests are signed with, and what their user may do"
# What such answers say; their code has other uses, too (sources: DefaultAuthenticationHandler.java,
# AclAuthorizationHandler.java, AuthenticationEvaluator.java; PlainPermissionManager.java of 4.x).
_ACCESS_WORDS = re.compile(
    r"\b(signature|username|User:|credentials|access rights|access ?key|acl config)", re.IGNORECASE
)
_ACL_FAILURE = "org.apache.rocketmq.acl.common.AclException:"
"""How brokers of 4.x begin any such refusal, as an error of the system (PlainAccessValidator.java)."""


class ReceiptError(AnswerError, GiveUpError):
    """A popped message is not ours any more: it was acknowledged before, or its time was over.

    In the second case it is, or will be, delivered again. `code` is NO_MESSAGE, or what the broker said.
    """


_RETRY_CODES = frozenset(
    {
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
        ResponseCode.FLOW_CONTROL,
        ResponseCode.GO_AWAY,
    }
)


def answer_error(code: int, remark: str | None, address: str) -> AnswerError:
    """The error for an answer with `code` from `address`, of the class that tells what can be done."""
    said = remark or ""
    if (code == ResponseCode.NO_PERMISSION and _ACCESS_WORDS.search(said)) or said.startswith(_ACL_FAILURE):
        return AccessError(code, remark, address)
    kind = AnswerRetry if code in _RETRY_CODES else AnswerFix
    return kind(code, remark, address)


def _code_name(code: int) -> str:
    try:
        return f"{code} {ResponseCode(code).name}"
    except ValueError:
        return str(code)
