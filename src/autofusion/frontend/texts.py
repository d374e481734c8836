"""Text fields of a parsed message: protobuf hands out bytes, and says nothing, where one is not UTF-8."""

from __future__ import annotations

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message


def find_broken_text(message: Message) -> str:
    """The name of the first text field that is not UTF-8, `NodeProto.name` for one, "" where there is none."""
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_STRING:
            texts = (value,) if isinstance(value, str | bytes) else value
            if not all(isinstance(text, str) for text in texts):
                return f"{message.DESCRIPTOR.name}.{field.name}"
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in (value,) if isinstance(value, Message) else value:
                found = find_broken_text(inner)
                if found:
                    return found
    return ""
