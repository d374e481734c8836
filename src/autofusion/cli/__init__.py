"""The commands: reading options, calling services, showing what they return."""
