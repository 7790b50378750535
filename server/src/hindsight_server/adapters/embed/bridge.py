"""From the multilingual space into the English one: a linear map of vectors, fitted on texts encoded in both.

An English text is stored in the English space alone. A question in another script is encoded in the multilingual space,
where translations lie close together, and this map takes its vector to where the English space has such texts (the idea
of Mikolov, Le and Sutskever 2013, "Exploiting similarities among languages for machine translation"). Nothing more is
stored for it, and no text is encoded twice.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hindsight_server.adapters.embed.files import check_file
from hindsight_server.ports.embedder import Float32Array

FILE = "multilingual-to-english.npy"
PATH = Path(__file__).parent / "data" / FILE
SHA256 = "c9843f76fd90542f7926a7d97582caaf28dc0a24902da47e46291d1ae2fc9e6d"


class Bridge:
    """The map; its file is read at the first use.

    Args:
        path: a float16 matrix, shape (d + 1, e), for vectors of d numbers into a space of e; the last row is added.
    """

    def __init__(self, path: Path = PATH) -> None:
        self._path = path
        self._map: tuple[Float32Array, Float32Array] | None = None

    def __call__(self, vector: Float32Array) -> Float32Array:
        """The vector in the English space, at unit length.

        Raises:
            EmbeddingUnavailable: the file is missing or not the one expected.
        """
        if self._map is None:
            whole = np.load(check_file(self._path, SHA256), allow_pickle=False).astype(np.float32)
            self._map = whole[:-1], whole[-1]
        matrix, offset = self._map
        crossed: Float32Array = vector @ matrix + offset
        crossed /= np.sqrt(crossed @ crossed)
        return crossed
