"""Python text as a tree with places: where a call stands, how its arguments are written, how code is put in there."""
