"""Commands for those who work on Arterial; no part of the package."""
