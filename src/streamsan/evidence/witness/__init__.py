"""An execution that goes wrong, for a finding about order."""
