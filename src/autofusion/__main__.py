"""`python -m autofusion` is the command `autofusion`."""

from autofusion.cli.main import main

main()
