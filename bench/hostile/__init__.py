"""Inputs that nobody means well: `mutations` makes them, `runs` checks them in processes of their own."""
