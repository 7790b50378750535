"""Reading the text out of files."""

LENGTH_BYTES = 8
"""How many bytes tell the length of a file to the process that reads it; the highest comes first."""
