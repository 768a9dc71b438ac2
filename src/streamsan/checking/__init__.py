"""From paths and options to a report: what the verbs of the command line and `streamsan.check` have in common.

Paths come in, as a person names them; out goes a `Report`. `folders` finds the files, `every_input` checks them one
after the other, `reporting` decides what of it is reported. Nothing here prints.
"""
