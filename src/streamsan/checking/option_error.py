"""What is wrong with how a check was asked for."""


class OptionError(ValueError):
    """An option says what it may not. `str()` is one line that names the option."""
