"""TLS on connections of loops and of plain threads."""
