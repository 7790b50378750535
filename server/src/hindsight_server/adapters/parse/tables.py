"""Tables as text: a line for each row, which says of each value what it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain


def table_lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A line for each row.

    The first row names the columns when all of its cells are different words, none is a number and more rows follow;
    then each value is written with its column's name, so that a row says something by itself.

    Example:
        >>> list(table_lines([["city", "year"], ["Oslo", "2015"]]))
        ['city = Oslo; year = 2015']
    """
    filled = (cells for row in rows if any(cells := [" ".join(cell.split()) for cell in row]))
    first = next(filled, None)
    if first is None:
        return
    names = first if _are_names(first) else []
    follows = False
    for cells in filled if names else chain([first], filled):
        follows = True
        named = [
            f"{names[at]} = {cell}" if at < len(names) and names[at] else cell for at, cell in enumerate(cells) if cell
        ]
        yield "; ".join(named)
    if names and not follows:
        yield "; ".join(cell for cell in names if cell)


def _are_names(cells: Sequence[str]) -> bool:
    held = [cell for cell in cells if cell]
    return len(held) > 1 and len(set(held)) == len(held) and not any(_is_number(cell) for cell in held)


def _is_number(cell: str) -> bool:
    return all(sign.isdigit() or sign in "+-.,%$€£ " for sign in cell)
