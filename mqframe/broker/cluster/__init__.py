"""Heartbeats of clients, and the registration with name servers."""
