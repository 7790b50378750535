"""Mental models: standing answers to questions, kept current."""
