"""Regular expressions that are compiled when they are first used: to compile all takes a good part of a small check."""
