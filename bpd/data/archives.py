"""Archives: chosen members of a `.tgz`, unpacked one after the other and never to a place the archive chooses."""

from __future__ import annotations

import shutil
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from bpd.atomic import atomic_path
from bpd.errors import BpdError


def extract_members(archive: Path, names: Sequence[str], folder: Path) -> list[Path]:
    """Unpack the regular files whose base names are `names` into `folder`, and return their paths in that order.

    The archive is read once, front to back, in constant memory. Where its members lie inside it does not matter, and
    their own paths are never used, so that none can leave `folder`.
    Raises `BpdError` for a missing or repeated member, and for an archive that is truncated or none at all.
    """
    found: dict[str, str] = {}
    try:
        with tarfile.open(archive, "r|gz") as members:
            for member in members:
                name = PurePosixPath(member.name).name
                if name not in names or not member.isfile():
                    continue
                if name in found:
                    raise BpdError(f"{archive}: holds {name} twice, as {found[name]} and {member.name}")
                found[name] = member.name
                _unpack(members, member, folder / name)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise BpdError(f"{archive}: not a whole .tgz archive ({error}); fetch it again") from None
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
