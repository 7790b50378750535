"""Banks and documents that leave a server and enter another, or the same one again."""
