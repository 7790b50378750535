"""Recall: from a question to the facts that answer it, ranked and inside a token budget."""
