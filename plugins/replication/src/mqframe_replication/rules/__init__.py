"""The replication stream between a master and its slaves: bytes in, bytes out."""
