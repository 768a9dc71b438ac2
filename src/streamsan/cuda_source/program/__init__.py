"""What a translation unit declares, found by name (`index`), and what of it can matter (`relevance`, `unread`)."""
