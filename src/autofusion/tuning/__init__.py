"""Tuning banks: what layers are to be computed by, whatever the cost model says."""

from autofusion.tuning.bank import ANY, Bank, Choice, Key, join_banks, merge_choices
from autofusion.tuning.bank_file import parse_bank, read_bank, render_bank, write_bank
from autofusion.tuning.choices import describe_choices, digest_bank, read_choices

__all__ = [
    "ANY",
    "Bank",
    "Choice",
    "Key",
    "describe_choices",
    "digest_bank",
    "join_banks",
    "merge_choices",
    "parse_bank",
    "read_bank",
    "read_choices",
    "render_bank",
    "write_bank",
]
