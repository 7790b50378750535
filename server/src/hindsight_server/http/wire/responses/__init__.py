"""Shapes of the answers, by the module of `http` that gives them; generated likewise."""
