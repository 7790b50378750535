"""Pages: documents that a server keeps current, and how they are edited. Pure rules."""
