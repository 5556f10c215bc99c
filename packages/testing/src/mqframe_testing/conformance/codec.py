"""Conformance suite of codecs."""

from __future__ import annotations

import random
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mqframe.core.errors import DecodeError, EncodeError, FixError
from mqframe.core.messages.message import Message
from mqframe.core.messages.typed import CONTENT_TYPE, SCHEMA
from mqframe.hooks.interfaces import Codec

CUTS_MAX = 200
JUNK = 300


class UnknownClass:
    """A class that no codec knows."""


class CodecConformance:
    """Values survive, and bodies that are none are told by a `DecodeError` that says nothing of them.

    Override `values`, and `wrong` and `strangers` where there are such. Set `cuts_show` to False where a body
    may end early and be one nevertheless.
    """

    cuts_show = True
    secret = "4711-secret"
    """A text to put into values and wrong bodies: errors may not show it."""

    def make(self) -> Codec:
        """A fresh codec; those of sender and receiver are configured alike."""
        raise NotImplementedError

    def values(self) -> Iterable[tuple[Any, Any]]:
        """Pairs of a type and a value of it that is equal to what is decoded; one at least is some MiB."""
        raise NotImplementedError

    def wrong(self) -> Iterable[tuple[Any, bytes]]:
        """Pairs of a type and a body that is none of it."""
        return ()

    def strangers(self) -> Iterable[Any]:
        """Types that `check` refuses."""
        return (UnknownClass,)

    def unfit(self) -> Iterable[Any]:
        """Values that there is no body for."""
        return (UnknownClass(),)

    def test_says_what_it_is(self) -> None:
        """A name for messages, and a media type."""
        codec = self.make()
        assert codec.name
        kind, _, subtype = codec.content_type.partition("/")
        assert kind
        assert subtype

    def test_values_survive(self) -> None:
        """Through another codec, configured alike; the value itself stays as it is."""
        sender, receiver = self.make(), self.make()
        for kind, value in self.values():
            body = sender.encode(value)
            assert isinstance(body, bytes)
            assert body
            found = receiver.decode(body, kind)
            assert type(found) is type(value)
            assert found == value
            assert sender.encode(value) == body

    def test_types_of_its_values_pass_the_check(self) -> None:
        """And those that it can never decode do not."""
        codec = self.make()
        for kind, _ in self.values():
            codec.check(kind)
        for kind in self.strangers():
            with pytest.raises(FixError):
                codec.check(kind)

    def test_messages_say_what_they_hold(self) -> None:
        """In properties that brokers take."""
        codec = self.make()
        for _, value in self.values():
            said = Message.of("orders", value, codec=codec).properties
            assert said[CONTENT_TYPE] == codec.content_type
            assert said.get(SCHEMA, "") == codec.schema(value)
            assert all(each.isprintable() and len(each) < 1000 for each in said.values())

    def test_no_body_is_made_of_what_does_not_fit(self) -> None:
        """The error names the type and nothing that it holds."""
        codec = self.make()
        for value in self.unfit():
            with pytest.raises(EncodeError) as caught:
                codec.encode(value)
            assert type(value).__qualname__ in str(caught.value)
            assert self.secret not in str(caught.value)

    def test_a_body_that_is_cut_off_is_told(self) -> None:
        """Wherever it ends."""
        codec = self.make()
        for kind, value in self.values():
            body = codec.encode(value)
            step = max(1, len(body) // CUTS_MAX)
            for end in range(0, len(body), step):
                self.told(codec, kind, body[:end], must=self.cuts_show)

    def test_wrong_bodies_are_told(self) -> None:
        """Without a word of what they hold."""
        codec = self.make()
        for kind, body in self.wrong():
            self.told(codec, kind, body, must=True)

    def test_junk_does_no_harm(self) -> None:
        """It may even happen to be a value."""
        codec, chance = self.make(), random.Random(7)
        kinds = [kind for kind, _ in self.values()]
        for _ in range(JUNK):
            self.told(codec, chance.choice(kinds), chance.randbytes(chance.randrange(200)), must=False)

    def test_damaged_bodies_do_no_harm(self) -> None:
        """With some byte that is another one."""
        codec, chance = self.make(), random.Random(7)
        for kind, value in self.values():
            body = codec.encode(value)
            for _ in range(20):
                at = chance.randrange(len(body))
                changed = bytes([body[at] ^ 1 << chance.randrange(8)])
                self.told(codec, kind, body[:at] + changed + body[at + 1 :], must=False)

    def test_threads_may_share_it(self) -> None:
        """Each gets what it asked for."""
        codec = self.make()
        pairs = list(self.values()) * 8

        def there_and_back(pair: tuple[Any, Any]) -> bool:
            kind, value = pair
            return bool(codec.decode(codec.encode(value), kind) == value)

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(there_and_back, pairs))

    def told(self, codec: Codec, kind: Any, body: bytes, *, must: bool) -> None:
        """Decodes `body`, which must, or may, fail with a `DecodeError`."""
        problem = None
        try:
            codec.decode(body, kind)
        except DecodeError as found:
            problem = found
        if problem is None:
            assert not must, f"{body[:80]!r} was taken for a {kind}"
        else:
            assert problem.problem
            assert self.secret not in str(problem)
