"""Measurements of autofusion beside other engines; nothing here is part of the package or of its tests."""
