"""``python -m framewire`` is the command line."""

from framewire.cli import main

main()
