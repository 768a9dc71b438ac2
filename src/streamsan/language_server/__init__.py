"""The language server: findings of sources in an editor, by the Language Server Protocol (pygls).

Each check is a process of its own, `streamsan check -`, that gets the text of the editor's buffer and answers with the
JSON report: it can be ended at any time, and its end is never the server's.
"""
