"""A movie from one machine to another, by every transport: both ends, and the run that is made of them."""

from framewire.real.ends import End, receive, send
from framewire.real.joining import join, side_of

__all__ = ["End", "join", "receive", "send", "side_of"]
