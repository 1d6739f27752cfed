"""The only door to the disk: what is written is whole or not there, what is read is bounded and checked.

`writing` writes files and folders, `reading` reads text and JSON, `unpacking` opens compressed tables through a limit,
`places` knows the user's cache folder. Nothing else in the package writes a file.
"""
