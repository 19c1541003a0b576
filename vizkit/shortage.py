"""A disk or a memory that does not suffice, recognised among other errors; the sentence is the caller's. And how malloc
is told to keep less."""

import ctypes
import errno
import os
from collections.abc import Iterator

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # no room, none left to this user, no larger file allowed
CPU_REFUSED = ("can't allocate memory", "not enough memory", "Cannot allocate memory")  # torch's, RuntimeErrors


def disk_full(error: BaseException) -> bool:
    """Whether a full disk is the reason, even where another error has been raised from it."""
    spoken = [f"(os error {number})" for number in DISK_FULL]  # by Rust, in which safetensors is written
    return any(
        (isinstance(each, OSError) and each.errno in DISK_FULL) or any(words in str(each) for words in spoken)
        for each in _reasons(error)
    )


def memory_short(error: BaseException) -> str:
    """Whose memory did not suffice: "the GPU", "this machine", or "" where the reason is another. Imports no torch."""
    for each in _reasons(error):
        if type(each).__name__ == "OutOfMemoryError":  # torch's, of an accelerator
            return "the GPU"
        refused = isinstance(each, RuntimeError | OSError) and any(words in str(each) for words in CPU_REFUSED)
        if refused or isinstance(each, MemoryError):
            return "this machine"
    return ""


def _reasons(error: BaseException | None) -> Iterator[BaseException]:
    """The error, what it was raised from, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def allocator(name: str, *arguments: int) -> None:
    """Tell glibc's malloc something: malloc_trim(3), mallopt(3). Elsewhere nothing."""
    function = getattr(ctypes.CDLL(None) if os.name == "posix" else None, name, None)
    if function:
        function(*arguments)
