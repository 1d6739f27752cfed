"""Access to the disk: atomic writes, bounded reads, compressed files and the user's cache folder.

Nothing else in the package writes a file.
"""
