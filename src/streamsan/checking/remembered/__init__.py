"""Results of sources that have not changed: kept on disk, and given back where all that was read is as it was.

`results` is the way in. It holds a result against the files it came from (`entry`), and against the code that made it
(`code_digest`); `folder` is where they lie.
"""
