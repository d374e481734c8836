"""Pattern files: TOML and graph text -> `Pattern` records, and what lint finds in them."""

from autofusion.patternlang.load import find_builtin_patterns, lint_file, load_patterns
from autofusion.patternlang.model import Pattern

__all__ = ["Pattern", "find_builtin_patterns", "lint_file", "load_patterns"]
