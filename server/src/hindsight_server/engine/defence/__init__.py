"""Memory defence: what a bank's policy lets into it."""

from hindsight_server.engine.defence.defender import Defender, NoDefence

__all__ = ["Defender", "NoDefence"]
