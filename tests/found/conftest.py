"""The program of the surfaces' tests, for what was found at the command line."""

from surfaces.conftest import cli

__all__ = ["cli"]
