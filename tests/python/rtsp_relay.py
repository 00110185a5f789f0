"""A program between a server of RTSP and its clients, which loses datagrams.

`PORT EVERY` are the server's port, and which datagrams of the first stream, the video, do not come to the client: each
so manyth. It says at which port it is, and ends when it is killed.
"""

from __future__ import annotations

import re
import select
import socket
import sys
import threading
from contextlib import suppress


def accept(listening: socket.socket, to: int, every: int) -> None:
    while True:
        client, server = listening.accept()[0], socket.create_connection(("127.0.0.1", to))
        threading.Thread(target=converse, args=(client, server, every), daemon=True).start()


def converse(client: socket.socket, server: socket.socket, every: int) -> None:
    """Hands on what both say, with its own ports in the place of theirs (RFC 2326, section 12.39)."""
    pairs: list[tuple[list[socket.socket], list[socket.socket], list[int]]] = []
    open_ends = {client: server, server: client}
    while open_ends:
        for end in select.select([*open_ends], [], [])[0]:
            said = end.recv(1 << 16)
            if not said:
                other = open_ends.pop(end)
                with suppress(OSError):
                    other.shutdown(socket.SHUT_WR)
                continue
            setup = re.search(rb"client_port=(\d+)-(\d+)", said)
            if setup and end is client:
                pairs.append((pair(), pair(), [*map(int, setup.groups())]))
                said = said.replace(setup[0], b"client_port=" + ports_of(pairs[-1][0]))
            elif setup:
                towards_server, towards_client, ports = pairs[-1]
                there = re.search(rb"server_port=(\d+)-(\d+)", said)
                assert there
                said = said.replace(setup[0], b"client_port=%d-%d" % tuple(ports))
                said = said.replace(there[0], b"server_port=" + ports_of(towards_client))
                for place, (one, two) in enumerate(zip(towards_server, towards_client, strict=True)):
                    loses = every if len(pairs) == 1 and place == 0 else 0
                    for way in ((one, two, ports[place], loses), (two, one, int(there[place + 1]), 0)):
                        threading.Thread(target=pass_on, args=way, daemon=True).start()
            open_ends[end].sendall(said)


def pair() -> list[socket.socket]:
    """Sockets at two ports that follow each other, the first of which is even (RFC 3550, section 11)."""
    while True:
        one, two = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        with suppress(OSError):
            one.bind(("127.0.0.1", 0))
            if one.getsockname()[1] % 2 == 0:
                two.bind(("127.0.0.1", one.getsockname()[1] + 1))
                return [one, two]
        one.close()
        two.close()


def ports_of(pair: list[socket.socket]) -> bytes:
    return b"%d-%d" % (pair[0].getsockname()[1], pair[1].getsockname()[1])


def pass_on(source: socket.socket, by: socket.socket, port: int, loses: int) -> None:
    """What comes at one socket goes on by the other one, until the process ends."""
    count = 0
    while True:
        datagram = source.recv(1 << 16)
        count += 1
        if not loses or count % loses:
            with suppress(OSError):
                by.sendto(datagram, ("127.0.0.1", port))


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    accept(listening, *map(int, sys.argv[1:]))
