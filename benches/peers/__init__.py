"""Which programs play what framewire sends, and whose streams it receives: the table of real.md.

Every cell is a stream over loopback from one to the other, whose frames are decoded by FFmpeg and compared with those
of the movie. ``python -m benches.peers`` prints the table of what is installed, ``--write`` puts it into the page. It
takes some twenty minutes. With ``--kept FILE`` what came of each stream is kept, a line for each: those whose lines
are taken out are carried anew.
"""
