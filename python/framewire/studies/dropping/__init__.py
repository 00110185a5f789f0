"""Frame-aware dropping over TCP, beside what others do when a live stream falls behind."""
