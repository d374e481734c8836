"""The base of records: what `typing.NamedTuple` gives, in a third of the time.

A session starts in the time in which some twenty such classes are made, and `typing` compiles every annotation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple as Record
else:
    from collections import namedtuple

    class _RecordType(type):
        """Makes a named tuple of the annotated names of a class body, with its defaults, methods and properties."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body["__annotations__"]
            defaults = [body[field] for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            for key, value in body.items():
                if key not in fields:
                    setattr(made, key, value)
            return made

    class Record(metaclass=_RecordType):
        """A class with this base is a named tuple; it needs `from __future__ import annotations`."""


__all__ = ["Record"]
