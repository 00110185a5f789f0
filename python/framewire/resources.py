"""What the system allows this process, compared with what a run takes: better said before than met in the middle.

Where memory cannot be had, the compiled half can only abort, or waits for a thread that did; where files cannot be
opened, what fails first is seldom what is named.
"""

from __future__ import annotations

from framewire.errors import MachineError

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

__all__ = ["LEAST_ADDRESS_SPACE", "LEAST_FILES", "check", "files_of_emulation"]

LEAST_ADDRESS_SPACE = 2_000_000_000
"""Bytes. The stacks and heaps of the threads of a run and of its report are 1.3 to 1.5 GB of addresses on two cores, of
which a tenth is memory in use (``VmPeak`` and ``VmHWM`` of proc(5))."""

LEAST_FILES = 64
"""Files open at once. Python, its compiled parts and a table take about thirty."""


def files_of_emulation(flows: int, applications: int, *, together: bool) -> int:
    """Files that the emulator has open at once, at most; ``applications`` of the flows are programs of the user's.

    Measured as the least limit with which runs come to their end: over the air 97 with 7 flows of TCP, 254 with 20; in
    one wired network 54 and 119. Some more, as it varies. 7 programs took 128.
    """
    in_all, of_each = (24, 5) if together else (20, 12)
    return max(LEAST_FILES, in_all + of_each * flows + 6 * applications)


def check(files_needed: int = LEAST_FILES, why: str = "a run and its report") -> None:
    """Raises MachineError where a limit of this process is lower than what a run or a report takes.

    ``files_needed`` are open at once, and ``why`` says what takes them.
    """
    if resource is None:
        return
    space, files = (resource.getrlimit(which)[0] for which in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE))
    if space != resource.RLIM_INFINITY and space < LEAST_ADDRESS_SPACE:
        raise MachineError(
            f"this process may use {space / 1e9:.1f} GB of address space (ulimit -v {space // 1024}); a run and its "
            f"report take up to {LEAST_ADDRESS_SPACE / 1e9:.0f} GB of addresses, a tenth of it in memory"
        )
    if files != resource.RLIM_INFINITY and files < files_needed:
        raise MachineError(
            f"this process may have {files} files open at once (ulimit -n); {why} take up to {files_needed}"
        )
