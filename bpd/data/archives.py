"""Archives: chosen members of a `.tgz`, unpacked one after the other and never to a place the archive chooses."""

from __future__ import annotations

import gzip
import shutil
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from bpd.atomic import atomic_path
from bpd.data.lines import most_unpacked, too_much_unpacked
from bpd.errors import BpdError

# The last ones are what Python's reader of archives fails with at headers that no program would write.
_DAMAGES = (
    tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, ValueError, TypeError, LookupError, ArithmeticError,
    AttributeError,
)  # fmt: skip


def extract_members(archive: Path, names: Sequence[str], folder: Path) -> list[Path]:
    """Unpack the regular files whose base names are `names` into `folder`, and return their paths in that order.

    The archive is read once, front to back, in constant memory. Where its members lie inside it does not matter, and
    their own paths are never used, so that none can leave `folder`.
    Raises `BpdError` for a missing or repeated member, and for an archive that is truncated or none at all.
    """
    found: dict[str, str] = {}
    try:
        # Python's own reading of packed streams as archives does not compare their checksum.
        with gzip.open(archive, "rb") as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as members:
            for member in members:
                # Even what is passed over is: Python would read on for years where a header claims so much.
                if member.issparse() or member.size > most_unpacked(Path(archive)):
                    raise BpdError(f"{archive}: {member.name[:200]}: {too_much_unpacked(Path(archive))}")
                name = PurePosixPath(member.name).name
                if name not in names or not member.isfile():
                    continue
                if name in found:
                    raise BpdError(f"{archive}: holds {name} twice, as {found[name]} and {member.name}")
                found[name] = member.name
                _unpack(members, member, folder / name)
            while unpacked.read(1 << 20):
                pass
    except _DAMAGES as error:
        raise BpdError(f"{archive}: not a whole .tgz archive ({str(error)[:200]}); fetch it again") from None
    except OSError as error:
        raise BpdError(f"{archive}: cannot be unpacked: {error.strerror or error}") from None
    missing = [name for name in names if name not in found]
    if missing:
        raise BpdError(f"{archive}: holds no {' and no '.join(missing)}; it is not the archive that is expected here")
    return [folder / name for name in names]


def _unpack(members: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    content = members.extractfile(member)
    if content is None:
        raise BpdError(f"{members.name}: {member.name} has no content")
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        shutil.copyfileobj(content, stream, 1 << 20)
        if stream.tell() != member.size:
            raise tarfile.ReadError(f"{member.name} ends after {stream.tell()} of {member.size} bytes")
