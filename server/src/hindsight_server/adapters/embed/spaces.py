"""Two vector spaces behind one embedder: each text is encoded in the space that understands its script."""

from __future__ import annotations

import atexit
import logging
import re
from collections.abc import Callable, Sequence
from threading import Event, Lock, Thread
from typing import Protocol

from hindsight_server.domain.errors import EmbeddingUnavailable
from hindsight_server.ports.embedder import Encoding, Float32Array

_log = logging.getLogger(__name__)

# Longer than any load on a machine that works; it only bounds a call that comes before the model.
_LOAD_SECONDS = 60.0
_EXIT_SECONDS = 10.0  # that the end of the process waits for a load

_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[A-Za-zªºÀ-ÖØ-öø-ɏḀ-ỿＡ-Ｚａ-ｚ]")
# Han, kana and hangul: a character says about as much as three Latin letters.
_DENSE = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_DENSE_WEIGHT = 3
# Up to this share other scripts are names inside a Latin sentence.
_OTHER_SHARE = 0.3


class SpaceModel(Protocol):
    """One vector space. `load` comes before `encode`; `encode` may be called from several threads."""

    @property
    def space(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def load(self) -> None: ...

    def encode(self, text: str) -> Encoding: ...


class ScriptEmbedder:
    """Latin script goes to the default space, other scripts to the multilingual one, which is loaded when first needed.

    Args:
        english: the default space; `start` loads it in a daemon thread.
        multilingual: the space of all other scripts.
        bridge: takes a multilingual vector into the default space. Without it a query in another script is encoded by
            the default model, which does not understand it.
    """

    def __init__(
        self,
        english: SpaceModel,
        multilingual: SpaceModel,
        bridge: Callable[[Float32Array], Float32Array] | None = None,
    ) -> None:
        self._english = _Lazy(english)
        self._multilingual = _Lazy(multilingual)
        self._bridge = bridge
        self._by_space = {lazy.model.space: lazy for lazy in (self._english, self._multilingual)}

    @property
    def spaces(self) -> tuple[str, ...]:
        """The default space and the multilingual one."""
        return tuple(self._by_space)

    def dimension(self, space: str) -> int:
        """Length of the pooled vectors; `EmbeddingUnavailable` for an unknown space."""
        return self._lazy(space).model.dimension

    @property
    def ready(self) -> bool:
        """True once the default space is loaded."""
        return self._english.loaded

    @property
    def failure(self) -> str | None:
        """Why the default space failed to load, or None."""
        return self._english.failure

    def start(self) -> None:
        """Begin loading the default space in the background; calls after the first do nothing."""
        self._english.start()

    def wait_ready(self, timeout: float) -> bool:
        """Wait until the default space is loaded or has failed, at most `timeout` seconds; whether it is loaded."""
        self._english.done.wait(timeout)
        return self.ready

    def space_of(self, text: str) -> str:
        """The space of the text's script.

        Latin letters, or no letters at all, mean the default space; a text of both goes to the multilingual space
        when more than 30 % of its letters are of other scripts, an East Asian character counting three.
        """
        lazy = self._english if _is_latin(text) else self._multilingual
        return lazy.model.space

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode texts, each alone and in its space; waits for a space that is still loading.

        Raises:
            EmbeddingUnavailable: a space that is needed could not be loaded.
        """
        return [self._by_space[self.space_of(text)].get().encode(text) for text in texts]

    def encode_query(self, text: str, spaces: Sequence[str]) -> list[Encoding]:
        """Encode a query in each of the given spaces, in their order; waits for one that is still loading.

        A query in another script than Latin reaches the default space over the bridge, from its multilingual vector.

        Raises:
            EmbeddingUnavailable: a space is unknown or could not be loaded.
        """
        wanted = [self._lazy(space) for space in spaces]
        if self._bridge is None or self._english not in wanted or _is_latin(text):
            return [lazy.get().encode(text) for lazy in wanted]
        own = self._multilingual.get().encode(text)
        crossed = Encoding(self._english.model.space, self._bridge(own.vector), crossed=True)
        return [crossed if lazy is self._english else own for lazy in wanted]

    def _lazy(self, space: str) -> _Lazy:
        try:
            return self._by_space[space]
        except KeyError:
            raise EmbeddingUnavailable(
                f"Embedding space '{space}' is unknown; this embedder has {', '.join(self._by_space)}."
            ) from None


class _Lazy:
    """A model that is loaded at most once, in a thread of its own."""

    def __init__(self, model: SpaceModel) -> None:
        self.model = model
        self.done = Event()
        self.loaded = False
        self.failure: str | None = None
        self._lock = Lock()
        self._thread: Thread | None = None

    def start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = Thread(target=self._load, name=f"load {self.model.space}", daemon=True)
                self._thread.start()
                # Libraries in C++ abort the process when it ends while they are being loaded.
                atexit.register(self._thread.join, _EXIT_SECONDS)

    def get(self) -> SpaceModel:
        if not self.loaded:
            self.start()
            self.done.wait(_LOAD_SECONDS)
            if not self.loaded:
                raise EmbeddingUnavailable(self.failure or f"Space '{self.model.space}' is still being loaded.")
        return self.model

    def _load(self) -> None:
        try:
            self.model.load()
            self.loaded = True
        except EmbeddingUnavailable as error:
            self.failure = str(error)
            _log.error("Embedding space %s is unavailable: %s", self.model.space, error)
        except Exception as error:  # whatever went wrong, the server goes on without this space and says why
            self.failure = f"Embedding space '{self.model.space}' could not be loaded: {type(error).__name__}: {error}"
            _log.exception("Embedding space %s could not be loaded", self.model.space)
        finally:
            self.done.set()


def _is_latin(text: str) -> bool:
    if text.isascii():
        return True
    letters = len(_LETTER.findall(text))
    dense = len(_DENSE.findall(text))
    other = letters - len(_LATIN.findall(text)) + dense * (_DENSE_WEIGHT - 1)
    return other <= _OTHER_SHARE * (letters + dense * (_DENSE_WEIGHT - 1))
