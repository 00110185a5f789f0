"""Studies that framewire repeats, each beside what it published."""
