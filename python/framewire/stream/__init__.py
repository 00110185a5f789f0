"""Adaptive streams between two machines: serve a streaming file, and receive it.

Example:
    >>> from framewire import stream
    >>> stream.CONTROLLERS
    ('vtp', 'better', 'tfrc', 'rap', 'sqrt', 'aimd', 'fixed')
"""

from framewire.stream.address import Address
from framewire.stream.endpoint import CONTROLLERS, ESTIMATES, Interrupted, receive, send

__all__ = ["CONTROLLERS", "ESTIMATES", "Address", "Interrupted", "receive", "send"]
