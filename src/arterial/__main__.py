"""`python -m arterial` is the `arterial` command."""

from arterial.cli.main import main

main()
