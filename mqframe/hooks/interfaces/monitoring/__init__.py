"""How servers are monitored: what they measure, and what shows it to other systems."""
