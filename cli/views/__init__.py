"""Commands that look: they write nothing but what gc and pin are for."""

from mspt.cli.views.commands import add_view_commands

__all__ = ["add_view_commands"]
