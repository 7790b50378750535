"""Reading the text out of files."""
