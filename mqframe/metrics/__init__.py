"""The metrics port of a server: Prometheus metrics, health and readiness, served from a thread."""
