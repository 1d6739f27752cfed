"""Access to the disk: atomic writes, bounded reads, compressed files and the user's cache folder.

All output files are written here; `data.spill` and `datasets.movielens` write temporary files themselves.
"""
