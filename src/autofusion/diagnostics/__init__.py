"""Diagnostic values, the table of their codes, and the renderers."""

from autofusion.diagnostics.model import Diagnostic, Severity, Span

__all__ = ["Diagnostic", "Severity", "Span"]
