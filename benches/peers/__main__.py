"""``python -m benches.peers``: makes the table of docs/real.md."""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path

from . import __doc__ as about
from .codecs import CODECS
from .programs import CHECKOUT
from .streams import PEERS
from .table import TRANSPORTS, Kept, all_of, cases, rows

PAGE = CHECKOUT / "docs" / "real.md"
BEGIN, END = "<!-- peers: benches/peers -->", "<!-- end of peers -->"


def main() -> None:
    """Makes the table."""
    parser = argparse.ArgumentParser(prog="python -m benches.peers", description=about)
    parser.add_argument("--write", action="store_true", help="put the table into docs/real.md")
    parser.add_argument("--at-once", type=int, default=2, help="streams at a time [2]")
    parser.add_argument(
        "--kept", type=Path, help="a file of what came of each stream: those in it are not carried again"
    )
    parser.add_argument("--peers", nargs="+", choices=PEERS, help="only these [all that are installed]")
    parser.add_argument("--transports", nargs="+", choices=TRANSPORTS, default=TRANSPORTS, help="only these")
    parser.add_argument("--codecs", nargs="+", choices=[codec.name for codec in CODECS], help="only these")
    asked = parser.parse_args()
    peers = asked.peers or [name for name, peer in PEERS.items() if peer.is_there()]
    codecs = [codec for codec in CODECS if asked.codecs is None or codec.name in asked.codecs]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        results = all_of(cases(peers, asked.transports, codecs), Path(folder), asked.at_once, Kept(asked.kept))
    made = "\n".join(rows(results, peers, asked.transports))
    print(made)
    if asked.write:
        block = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(block.sub(lambda _: f"{BEGIN}\n{made}\n{END}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
