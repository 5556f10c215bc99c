"""Peers in the process of their server: requests and answers that no socket carries."""
