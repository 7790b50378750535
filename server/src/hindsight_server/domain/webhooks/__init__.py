"""Webhooks: what is told to whom, where it may be sent, and how the receiver knows that it is from here."""
