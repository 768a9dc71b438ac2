"""The order engine: happens-before over a trace, and the candidate facts that break a rule."""
