"""Disks that are full: a small one of its own for a child process, and a limit on how large its files may grow."""

import ctypes
import os
import resource
from pathlib import Path

NEW_MOUNTS, NEW_USER = 0x00020000, 0x10000000
PRIVATE = 0x4000 | 0x40000  # MS_REC | MS_PRIVATE: what is mounted here is seen by nobody else


def own_disk(folder: Path, size: str) -> None:
    """Gives this process a disk of that size at `folder`; it is gone with the process. Raises where that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    _must(libc.unshare(NEW_MOUNTS | (0 if os.geteuid() == 0 else NEW_USER)), "a mount namespace of its own")
    _must(libc.mount(b"none", b"/", None, PRIVATE, None), "private mounts")
    _must(libc.mount(b"none", os.fsencode(folder), b"tmpfs", 0, f"size={size}".encode()), "a small disk")


def _must(status: int, what: str) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"this test needs {what}, and the system said: {os.strerror(number)}")


def fill(ballast: Path) -> None:
    """Writes until not one byte more fits."""
    with ballast.open("ab", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue


def files_at_most(size: int) -> None:
    """No file of this process may grow beyond that; Python ignores the signal, so that writing fails instead."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def files_of_any_size() -> None:
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
