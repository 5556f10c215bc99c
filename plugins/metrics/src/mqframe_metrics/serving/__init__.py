"""The metrics port of a process: Prometheus metrics, health and readiness, served from threads."""
