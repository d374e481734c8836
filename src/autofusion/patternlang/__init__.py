"""Pattern files: TOML and graph text -> `Pattern` records, declared operators, and what lint finds in them."""

from autofusion.patternlang.lint_files import lint_file, lint_files
from autofusion.patternlang.load import find_builtin_patterns, load_operators, load_patterns
from autofusion.patternlang.model import Pattern

__all__ = ["Pattern", "find_builtin_patterns", "lint_file", "lint_files", "load_operators", "load_patterns"]
