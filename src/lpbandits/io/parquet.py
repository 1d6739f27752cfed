"""What a Parquet file says of its own size, read before anything is unpacked.

Libraries that read Parquet unpack whole pages at once: 17 kB can become gigabytes. The footer (Thrift, in its compact
form) tells beforehand how many rows, columns and unpacked bytes there are.
"""

from pathlib import Path
from typing import Any, NamedTuple

LONGEST_FOOTER = 2**21
"""Bytes: they describe thousands of row groups."""

# fields of the footer (FileMetaData) and of a row group
_SCHEMA, _ROWS, _GROUPS = 2, 3, 4
_BYTES, _GROUP_ROWS = 2, 3
# types of the compact form
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12


class Size(NamedTuple):
    """What a file says of itself; `columns` counts groups of nested ones too."""

    rows: int
    columns: int
    unpacked: int


def size_of(path: Path) -> Size:
    """Return what a Parquet file says of its size; a file that is not whole is a `ValueError`.

    >>> import tempfile, polars
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     polars.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]}).write_parquet(f"{folder}/t.parquet")
    ...     size_of(Path(folder) / "t.parquet")[:2]
    (3, 2)
    """
    whole = path.stat().st_size
    with path.open("rb") as raw:
        start = raw.read(4)
        raw.seek(max(whole - 8, 0))
        end = raw.read(8)
        length = int.from_bytes(end[:4], "little")
        if start != b"PAR1" or end[4:] != b"PAR1" or not 0 < length <= whole - 12:
            raise ValueError("it does not begin and end as Parquet does")
        if length > LONGEST_FOOTER:
            raise ValueError(f"its footer has {length:,} bytes; at most {LONGEST_FOOTER:,} are read")
        raw.seek(whole - 8 - length)
        footer = raw.read(length)
    try:
        fields = _Compact(footer).struct()
        groups = fields.get(_GROUPS) or []
        unpacked = [int(group.get(_BYTES, 0)) for group in groups]
        rows = [int(group[_GROUP_ROWS]) for group in groups]
        size = Size(int(fields[_ROWS]), max(len(fields[_SCHEMA]) - 1, 0), sum(unpacked))
    except (IndexError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("its footer is damaged") from None
    if min(*size, *unpacked, *rows) < 0 or sum(rows) != size.rows:
        raise ValueError("its footer is damaged")
    return size


class _Compact:
    """Reads values of Thrift's compact form, one after another."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def struct(self) -> dict[int, Any]:
        """Return a struct's fields by number; text is left out."""
        out: dict[int, Any] = {}
        field = 0
        while True:
            head = self._byte()
            if head == 0:
                return out
            field = field + (head >> 4) if head >> 4 else self._number()
            out[field] = self._value(head & 15)

    def _value(self, kind: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in (_DOUBLE, _BINARY):
            return self._skip(8 if kind == _DOUBLE else self._unsigned())
        readers = {_BYTE: self._byte, _LIST: self._list, _SET: self._list, _STRUCT: self.struct}
        if kind in (4, 5, 6):
            return self._number()
        return readers[kind]()  # maps do not occur in a footer

    def _list(self) -> list[Any]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._unsigned()
        kind = head & 15
        if count > len(self.data) - self.at:  # every value has a byte at least
            raise IndexError(count)
        if kind in (_TRUE, _FALSE):
            return [self._byte() == _TRUE for _ in range(count)]
        return [self._value(kind) for _ in range(count)]

    def _skip(self, count: int) -> None:
        if count > len(self.data) - self.at:
            raise IndexError(count)
        self.at += count

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _unsigned(self) -> int:
        out = shift = 0
        while True:
            byte = self._byte()
            out |= (byte & 127) << shift
            if byte < 128:
                return out
            shift += 7
            if shift > 63:
                raise IndexError(shift)

    def _number(self) -> int:
        code = self._unsigned()
        return (code >> 1) ^ -(code & 1)
