"""Arrays that grow at the end, shared between the successive views of a bank.

A view holds a slice of a buffer up to its own length. Appending writes only beyond every slice handed out so far, so
that a recall which still reads an older view is not disturbed.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

K = TypeVar("K", bound=Hashable)

_FIRST_CAPACITY = 64
_SPARE = 16  # room for a sixteenth more than is asked for


class Column:
    """A growable array of rows; `width` None makes it one-dimensional."""

    __slots__ = ("_data", "_size")

    def __init__(self, dtype: npt.DTypeLike, width: int | None = None) -> None:
        shape = (_FIRST_CAPACITY,) if width is None else (_FIRST_CAPACITY, width)
        self._data: npt.NDArray[Any] = np.empty(shape, dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """Bytes in use; spare room is not counted, since memory that nobody has written to takes none."""
        return self._size * int(self._data.strides[0])

    def reserve(self, rows: int) -> None:
        """Make room for so many rows and some more, so that the next few are not the ones that pay for growing."""
        if rows > len(self._data):
            self._grow(rows + rows // _SPARE)

    def extend(self, values: npt.ArrayLike) -> None:
        """Append rows; capacity doubles, so that n appends cost O(n) copies in all.

        The first rows, when they are many, are kept as they are, not copied: whoever gives them changes them no more.
        """
        added = np.asarray(values, self._data.dtype)
        size = self._size + len(added)
        if not self._size and size > len(self._data) and added.base is None:
            self._data, self._size = added, size
            return
        if size > len(self._data):
            self._grow(max(size, 2 * len(self._data)))
        self._data[self._size : size] = added
        self._size = size

    def _grow(self, capacity: int) -> None:
        grown = np.empty((capacity, *self._data.shape[1:]), self._data.dtype)
        grown[: self._size] = self._data[: self._size]
        self._data = grown

    def view(self) -> npt.NDArray[Any]:
        """All rows so far, not to be written to."""
        rows = self._data[: self._size]
        rows.flags.writeable = False
        return rows


class Ragged:
    """A growable list of lists of numbers, flat: row i is ``flat[offsets[i]:offsets[i + 1]]``."""

    __slots__ = ("_flat", "_offsets", "_owners")

    def __init__(self) -> None:
        self._flat = Column(np.int32)
        self._owners = Column(np.int32)
        self._offsets = Column(np.int64)
        self._offsets.extend([0])

    @property
    def nbytes(self) -> int:
        return self._flat.nbytes + self._owners.nbytes + self._offsets.nbytes

    def extend(self, lists: Sequence[Sequence[int]]) -> None:
        """Append one list a row."""
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        self.extend_flat(np.fromiter((x for one in lists for x in one), np.int32, int(lengths.sum())), lengths)

    def flat(self) -> npt.NDArray[np.int32]:
        return self._flat.view()

    def reserve(self, rows: int, numbers: int) -> None:
        """Make room for so many rows with so many numbers together."""
        self._flat.reserve(numbers)
        self._owners.reserve(numbers)
        self._offsets.reserve(rows + 1)

    def extend_flat(self, flat: npt.NDArray[np.int32], lengths: npt.NDArray[np.int64]) -> None:
        """Append rows, given one after another and their lengths."""
        first_row, first = len(self._offsets) - 1, len(self._flat)
        self._flat.extend(flat)
        self._owners.extend(np.repeat(np.arange(first_row, first_row + len(lengths), dtype=np.int32), lengths))
        self._offsets.extend(first + np.cumsum(lengths))

    def owners(self) -> npt.NDArray[np.int32]:
        """For each number in `flat`, the row it belongs to."""
        return self._owners.view()

    def offsets(self) -> npt.NDArray[np.int64]:
        return self._offsets.view()


class Interner(Generic[K]):
    """Small whole numbers for values, from 0 in order of appearance."""

    __slots__ = ("_numbers", "values")

    def __init__(self) -> None:
        self._numbers: dict[K, int] = {}
        self.values: list[K] = []

    def __len__(self) -> int:
        return len(self.values)

    def number(self, value: K) -> int:
        """The value's number, given to it now if it has none."""
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.values)
            self.values.append(value)
        return number

    def find(self, value: K) -> int | None:
        """The value's number, or None if it never appeared."""
        return self._numbers.get(value)
