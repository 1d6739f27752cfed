"""What a workbook unpacks to, found out before it is read: its reader keeps every cell's text in memory."""

import zipfile
from pathlib import Path

from lpbandits.errors import InvalidInput
from lpbandits.io.compressed import Limit, open_zip

_CHUNK = 1 << 20
_SHARED, _END = b't="s"', b"</si>"
"""The mark of a cell whose text stands elsewhere, once for many cells; and where such a text ends."""


def check_workbook(path: Path, name: str, limit: Limit) -> None:
    """Refuse a workbook that is not whole, or that unpacks to more than a file of its size may."""
    most = limit.of(path.stat().st_size)
    with open_zip(path) as bundle:
        total = cells = longest = 0
        for member in bundle.infolist():
            size, marks, text = _measured(bundle, member, most - total, name)
            total, cells, longest = total + size, cells + marks, max(longest, text)
    if cells * longest > most:
        raise InvalidInput(
            f"{name} has {cells:,} cells of text, of up to {longest:,} bytes, which may be more than the {most:,} "
            "bytes that a file of its size may unpack to: shorten the longest, or raise the limit by unpack_limit=… "
            "(--unpack-limit 50GB)"
        )


def _measured(bundle: zipfile.ZipFile, member: zipfile.ZipInfo, most: int, name: str) -> tuple[int, int, int]:
    """Return the bytes of a part of a workbook, its cells of shared text, and the longest of these texts."""
    size = marks = longest = open_ = 0
    rest = b""
    if member.flag_bits & 1:
        raise InvalidInput(f"{name} is encrypted; save it without a password")
    texts = member.filename.endswith("sharedStrings.xml")
    with bundle.open(member) as part:
        while chunk := part.read(_CHUNK):
            size += len(chunk)
            if size > most:
                raise InvalidInput(
                    f"{name} unpacks to more than a file of its size may ({most:,} bytes left for {member.filename}); "
                    "if that is right, raise the limit: unpack_limit=… (--unpack-limit 50GB)"
                )
            data = rest + chunk
            marks += data.count(_SHARED)
            if texts:
                first, *others = data.split(_END)
                open_ += len(first)
                longest = max([longest, open_, *map(len, others)])
                open_ = len(others[-1]) if others else open_
            rest = data[-len(_SHARED) + 1 :]  # a mark may begin in one chunk and end in the next
    return size, marks, longest
