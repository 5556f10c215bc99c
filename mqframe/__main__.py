"""`python -m mqframe` is `mqframe`."""

from mqframe.cli import main

if __name__ == "__main__":
    main()
