"""What goes out: text on a terminal, with harmless characters, bodies and tables that fit; files."""
