"""The steps that bring a data folder from any older layout to today's; a released step is never edited."""
