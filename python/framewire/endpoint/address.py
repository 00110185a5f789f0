"""Where a server is."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from framewire.errors import InputError

__all__ = ["Address"]

_LAST_PORT = 65_535


@dataclass(frozen=True)
class Address:
    """Where a server is reached: video at one port, control packets at another, the next one unless it is named.

    >>> Address.parse("[::1]:5004")
    Address(host='[::1]', data=5004, control=5005)
    """

    host: str
    data: int
    control: int

    @classmethod
    def parse(cls, text: str, *, control: int | None = None) -> Address:
        """Reads ``ADDRESS:PORT``, with the name of a host or an IP address.

        Raises:
            InputError: when it is none.
        """
        host, colon, port = text.rpartition(":")
        is_bracketed = host.startswith("[") and host.endswith("]")
        if not colon or not port.isascii() or not port.isdecimal() or not host or (":" in host) != is_bracketed:
            raise InputError(
                f"address {text!r}: ADDRESS:PORT is needed, as 127.0.0.1:5004, [::1]:5004 or example.org:5004"
            )
        number = int(port)
        _check_port(f"address {text!r}", number)
        if number == _LAST_PORT and control is None:
            raise InputError(f"address {text!r}: control packets need the next port: state another (--control-port)")
        following = 0 if number == 0 else number + 1
        if control is not None:
            _check_port("--control-port", control)
        return cls(host, number, following if control is None else control)

    def resolved(self) -> Address:
        """The same with an IP address in place of a name; one of IPv4 where the name has both, as servers listen there
        unless stated otherwise.

        Raises:
            InputError: when the name does not resolve.
        """
        name = self.host.removeprefix("[").removesuffix("]")
        try:
            ipaddress.ip_address(name)
        except ValueError:
            pass
        else:
            return self
        try:
            found = socket.getaddrinfo(name, None, type=socket.SOCK_DGRAM)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"address {self.data_text()!r}: no address of {name!r} is known: {reason}") from None
        family, _, _, _, (address, *_) = min(found, key=lambda one: one[0] != socket.AF_INET)
        host = f"[{address}]" if family == socket.AF_INET6 else str(address)
        return Address(host, self.data, self.control)

    def data_text(self) -> str:
        """Of video."""
        return f"{self.host}:{self.data}"

    def control_text(self) -> str:
        """Of control packets."""
        return f"{self.host}:{self.control}"


def _check_port(what: str, port: int) -> None:
    if not 0 <= port <= _LAST_PORT:
        raise InputError(f"{what}: port {port}: 0 to {_LAST_PORT} are allowed")
