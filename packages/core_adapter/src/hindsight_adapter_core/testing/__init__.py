"""For tests of adapters and of applications that use them: a fake server in process, and the adapter contract.

Needs nothing but what the core needs. Nothing here is imported by the rest of the package.
"""

from .contract import AdapterContract, AdapterUnderTest
from .fake_server import FakeHindsight, RecordedRequest

__all__ = ["AdapterContract", "AdapterUnderTest", "FakeHindsight", "RecordedRequest"]
