"""What is kept for the next process, with its hash: it is believed only if it is what was written."""

import hashlib

_HASH = hashlib.sha256
_SIZE = _HASH().digest_size


def sealed(data: bytes) -> bytes:
    """Return data with its hash behind it."""
    return data + _HASH(data).digest()


def unsealed(kept: bytes) -> bytes | None:
    """Return what was sealed, or None if it was damaged since.

    >>> unsealed(sealed(b"code")), unsealed(sealed(b"code").replace(b"o", b"0")), unsealed(b"")
    (b'code', None, None)
    """
    data, seal = kept[:-_SIZE], kept[-_SIZE:]
    return data if _HASH(data).digest() == seal else None
