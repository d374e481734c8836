"""The version of the tool: the one place that states it, read by the build and written into artifacts."""

VERSION = "0.1.0"
