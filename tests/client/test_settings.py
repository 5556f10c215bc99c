"""Settings of clients: what follows from several of them."""

from mqframe import ProducerSettings


def test_a_body_may_be_longer_than_the_limit_before_it_is_packed_where_bodies_of_its_size_are():
    assert ProducerSettings().plain_bytes_max == 64 * 1024 * 1024
    assert ProducerSettings(body_bytes_max=1000).plain_bytes_max == 1000
