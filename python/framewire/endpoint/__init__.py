"""Adaptive streams between two machines: serve a streaming file, and receive it.

Example:
    >>> from framewire import endpoint
    >>> endpoint.CONTROLLERS
    ('vtp', 'vtp-hybrid', 'tfrc', 'rap', 'sqrt', 'aimd', 'fixed')
"""

from framewire.endpoint.address import Address
from framewire.endpoint.sessions import CONTROLLERS, ESTIMATES, Interrupted, receive, send

__all__ = ["CONTROLLERS", "ESTIMATES", "Address", "Interrupted", "receive", "send"]
