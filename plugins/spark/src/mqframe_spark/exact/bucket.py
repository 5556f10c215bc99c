"""One bucket of an object store: what is asked of it, and what its errors mean."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from typing import Final

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import ObjectStore

from mqframe.core.errors import FixError, MqframeError, RetryError, SettingError

CREATE_PAUSES_SECONDS: Final = (0.1, 0.5, 2.0, 5.0)
"""Waited before an object is written again of which nobody knows whether it was."""

_PROBE_CONTENT: Final = (
    b"Written again at each start, to see that this store refuses to: drivers rely on it.\n"
)
_NO_BUCKET: Final = re.compile("NoSuchBucket|ContainerNotFound|bucket does not exist", re.IGNORECASE)
_SAID: Final = re.compile(r"<Code>(.*?)</Code>\s*<Message>(.*?)</Message>", re.DOTALL)
_STATUS: Final = re.compile(r"non-2xx status code: (\d{3}[^:]*)")
_REFUSED: Final = re.compile(r"[34]\d\d(?<!408)(?<!425)(?<!429)")
_REASON_CHARACTERS: Final = 400


class PutUnknown(RetryError):
    """Nobody knows whether an object was written. It may appear later."""

    maybe_stored = True


class Bucket:
    """A bucket, or container, of `store`. `place`: how errors name it; `secrets`: what they must not show.

    All methods raise `FixError` for what the store refuses, `RetryError` when it cannot be asked.
    """

    def __init__(
        self,
        store: ObjectStore,
        place: str,
        secrets: Iterable[str] = (),
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store = store
        self._place = place
        self._secrets = tuple(secrets)
        self._sleep = sleep
        self._refuses = False

    def names(self, folder: str) -> list[str]:
        """What lies in `folder`, folders too."""
        try:
            found = obstore.list_with_delimiter(self._store, folder or None)
        except (BaseError, OSError, ValueError) as problem:
            raise self._failed("listed", folder, problem) from None
        paths = [*found["common_prefixes"], *(each["path"] for each in found["objects"])]
        return [path.rstrip("/").rpartition("/")[2] for path in paths]

    def read(self, path: str) -> bytes:
        """Raises `FileNotFoundError`."""
        try:
            return bytes(obstore.get(self._store, path).bytes())
        except (BaseError, OSError, ValueError) as problem:
            failed = self._failed("read", path, problem)
            if isinstance(problem, FileNotFoundError) and not _NO_BUCKET.search(str(problem)):
                raise FileNotFoundError(path) from None
            raise failed from None

    def create(self, path: str, content: bytes) -> bool:
        """Whether `path` holds `content` because of this call. `content`: unlike any that others write.

        Raises `PutUnknown` when that cannot be found out.
        """
        why = "the store answers each time that somebody else is writing there"
        for pause in (*CREATE_PAUSES_SECONDS, None):
            try:
                if self._put(path, content):
                    return True
                return self.read(path) == content
            except FileNotFoundError:
                pass  # refused, for a moment, with nothing there (409 of Amazon S3); or removed as too old
            except RetryError as problem:
                # Its answer may have got lost. If it was written the next put is refused, and it is read.
                why = str(problem)
            if pause is not None:
                self._sleep(pause)
        raise PutUnknown(f"it is not known whether {self._place} has {path} now: {why}")

    def remove(self, path: str) -> None:
        """Remove the object, if it is there."""
        try:
            obstore.delete(self._store, path)
        except FileNotFoundError:
            pass
        except (BaseError, OSError, ValueError) as problem:
            raise self._failed("removed", path, problem) from None

    def must_refuse(self, path: str) -> None:
        """Find out, once, whether the store heeds the condition: what is at `path` may not be written again.

        Raises `SettingError` when it does not.
        """
        written = 0
        for pause in (*CREATE_PAUSES_SECONDS, None):
            try:
                while not self._refuses and written < 2:
                    self._refuses = not self._put(path, _PROBE_CONTENT)
                    written += not self._refuses
                break
            except RetryError:
                if pause is None:
                    raise
                self._sleep(pause)
        if not self._refuses:
            raise self._careless("has overwritten one")

    def _put(self, path: str, content: bytes) -> bool:
        """False: the store refused, as something is there."""
        try:
            obstore.put(self._store, path, content, mode="create", use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            return False
        except (BaseError, OSError, ValueError) as problem:
            raise self._failed("written", path, problem) from None
        return True

    def _failed(self, done: str, path: str, problem: Exception) -> MqframeError:
        """The error for `problem`, which came when the object at `path` was to be `done`."""
        text = str(problem)
        status = _STATUS.search(text)
        why = reason(problem, self._secrets)
        words = f"the commit record in {self._place}: {path or 'it'} cannot be {done}: {why}"
        if (status and status[1].startswith("501")) or isinstance(problem, NotSupportedError):
            return self._careless(f"cannot ({why})")
        denied = status is not None and status[1].startswith(("401", "403"))
        if denied or isinstance(problem, PermissionDeniedError | UnauthenticatedError):
            return FixError(
                f"{words}; check the keys, by options fs.… or the environment, and that they may list, "
                "read, write and delete there"
            )
        if isinstance(problem, FileNotFoundError) or _NO_BUCKET.search(text):
            return FixError(f"{words}; make the bucket first, or give commitPath another place")
        if "redirect" in text or (status and _REFUSED.match(status[1])):
            return FixError(f"{words}; check address, region and bucket, by options fs.… or the environment")
        return RetryError(words)

    def _careless(self, what: str) -> SettingError:
        return SettingError(
            f"the commit record in {self._place}: this store was asked to write an object only if there is "
            f"none (If-None-Match: *), and {what}, so two drivers could both go on; give commitPath a place "
            "on a store that heeds this, a newer version of it, or a folder of a file system"
        )


def reason(problem: Exception, secrets: Iterable[str] = ()) -> str:
    """What an error of obstore says, in one line, without `secrets`."""
    text = str(problem)
    said, status = _SAID.search(text), _STATUS.search(text)
    if said:
        text = f"{status[1]}: {said[1]}: {said[2]}" if status else f"{said[1]}: {said[2]}"
    line = " ".join(re.split(r"\n\s*Debug source", text)[0].split())
    for secret in sorted(secrets, key=len, reverse=True):
        line = line.replace(secret, "***")
    # Addresses can be signed.
    return re.sub(r"\?[^\s)\"']*", "?…", line)[:_REASON_CHARACTERS].rstrip(". ")
