"""Writes the generated files from the tables."""
