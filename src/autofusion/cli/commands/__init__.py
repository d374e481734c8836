"""One module per command of `autofusion`; each holds a click command called `command`."""
