"""Numbers with their nouns."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """`1 time`, `2 times`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
