"""What metrics are made by, without any server: numbers that become metrics."""
