"""Finding sensitive data by stated formats; what has a checksum counts only when that is right."""

from hindsight_server.adapters.detect.scanner import SensitiveData

__all__ = ["SensitiveData"]
