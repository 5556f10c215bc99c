"""Masters and slaves: what a broker of one of these roles has besides."""
