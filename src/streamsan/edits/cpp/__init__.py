"""C++, read for edits: `language` is what the edits ask, the others are its parts."""
