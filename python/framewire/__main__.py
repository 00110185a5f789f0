"""``python -m framewire``, and the program: the command line, which takes a moment to be loaded."""

import sys

__all__ = ["main"]


def main() -> None:
    """Entry point of the program."""
    try:
        from framewire.cli import main as run
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
