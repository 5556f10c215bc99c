"""Bloom filter positions as Apache RocketMQ computes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.filtering.bloom_filter import BloomFilter, murmur3
from mqframe.core.filtering.bodies import BloomFilterData


@pytest.mark.parametrize(
    ("data", "low"),
    [
        (b"", 0),
        # Published values of MurmurHash3_x64_128 with seed 0, lower half.
        (b"hello", 0xCBD8A7B341BD9B02),
        (b"hello, world", 0x342FAC623A5EBC8E),
        (b"The quick brown fox jumps over the lazy dog", 0xE34BBC7BBC071B6C),
    ],
)
def test_hashes(data, low):
    assert murmur3(data) == low


def test_the_size_of_brokers():
    bloom = BloomFilter()
    assert (bloom.bits, bloom.hashes) == (112, 3)
    assert (BloomFilter(10, 128).bits, BloomFilter(10, 128).hashes) == (616, 4)


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("g#t", [22, 87, 58]),
        ("billing#orders", [31, 20, 9]),
        ("", [0, 0, 0]),
        ("订单组#orders", [43, 6, 87]),
        ("a-much-longer-group-name-for-two-blocks#topic-of-the-same-kind", [50, 77, 61]),
    ],
)
def test_positions_are_those_of_the_reference(text, positions):
    assert BloomFilter().generate(text) == BloomFilterData(bit_num=112, bit_pos=positions)


@given(st.text())
def test_positions_are_within_the_filter(text):
    bloom = BloomFilter()
    data = bloom.generate(text)
    assert bloom.is_valid(data)
    assert all(0 <= position < 112 for position in data.bit_pos)
    assert bloom.generate(text) == data


def test_data_of_another_filter():
    bloom = BloomFilter()
    assert not bloom.is_valid(None)
    assert not bloom.is_valid(BloomFilterData(bit_num=112, bit_pos=[1, 2]))
    assert not bloom.is_valid(BloomFilter(10, 128).generate("g#t"))
