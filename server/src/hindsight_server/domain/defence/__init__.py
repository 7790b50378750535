"""Memory defence: what is looked for in a text before it is remembered, and what a bank's policy does about it."""
