"""Tables in uploaded files: reading them, what their values mean, and the files of other services. Knows no client and no post.

A file is read in two steps. `reading.detect` finds its format. `reading.convert` writes the canonical file, one line of JSON for each row,
and returns the columns with statistics of their values.
"""
