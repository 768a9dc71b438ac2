"""From addresses in a recording to functions, files and lines."""
