"""Where the GStreamer elements of this installation are.

``python -m framewire.gstreamer`` prints the line that lets GStreamer find them.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

LIBRARY = "libgstframewire.so"
"""The plugin's file."""

_PLUGIN = Path(__file__).parent / "_gst" / LIBRARY


def plugin_directory() -> Path:
    """The directory for ``GST_PLUGIN_PATH``.

    Raises:
        FileNotFoundError: when the elements were not built with this installation.
    """
    if not _PLUGIN.exists():
        raise FileNotFoundError(
            f"{_PLUGIN} is not there: this installation came without the GStreamer elements; `make plugin` builds them"
        )
    return _PLUGIN.parent


def main() -> int:
    """Prints the line, or what is missing."""
    try:
        print(f"export GST_PLUGIN_PATH={shlex.quote(str(plugin_directory()))}")
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
