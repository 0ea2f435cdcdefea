"""Tables in uploaded files: reading them, what their values mean, and the files of other services. Knows no client and no post.

A file is read in two steps. `reading.detect` finds its format: all bytes tell the encoding, and the first 100 records the separator, which is
the one with the most columns of constant width. `reading.convert` writes the canonical file, one line of JSON for each row, so that a job can
continue at an offset. In the same pass it finds the types and formats that fit all values of a column. Most columns are decided within the
first rows, because a format that has failed is not tried again: a million rows with eight columns take about 20 seconds.
"""
