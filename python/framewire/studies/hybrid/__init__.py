"""The rate controls of adaptive streaming over the same paths: what ``vtp-hybrid`` is better and worse at."""
