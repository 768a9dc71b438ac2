"""`compile_commands.json`: how a build compiles each source. Untrusted: bounded, nothing of it is executed.

In: a file, or the folder that has it. Out: the options of a source (`CompileCommands.configurations`). `database` reads
entries, `command_words` takes their response files in, `flags` says what of a command line decides which text a source
is, `choice` finds the entries of a source, or one to stand in for them.
"""
