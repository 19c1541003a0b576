"""Files by paths that somebody gives, read where they are files: a pipe or a device would keep us waiting for ever."""

import errno
import os
from typing import BinaryIO

NO_FILE = "it is a pipe or a device, no file"


def is_regular(path: str | os.PathLike) -> bool:
    """Whether a path leads to a file, or to nothing yet; False of pipes, devices, sockets and folders."""
    return os.path.isfile(path) or not os.path.exists(path)


def open_file(path: str | os.PathLike) -> BinaryIO:
    """To read its bytes. OSError where there is none, it is no file, or may not be read."""
    if not is_regular(path):
        folder = os.path.isdir(path)
        raise OSError(errno.EISDIR if folder else errno.EINVAL, os.strerror(errno.EISDIR) if folder else NO_FILE, path)
    return open(path, "rb")


def read_bytes(path: str | os.PathLike, most: int = -1) -> bytes:
    """Of a file, `most` of them where that is not negative. OSError as `open_file`."""
    with open_file(path) as file:
        return file.read(most)


def read_text(path: str | os.PathLike, errors: str = "strict") -> str:
    """In UTF-8, its lines ended by line feeds. OSError as `open_file`, UnicodeDecodeError."""
    return read_bytes(path).decode("utf-8", errors).replace("\r\n", "\n")
