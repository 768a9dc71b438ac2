"""A run as files of other tools (`targets`): columns for queries, tracks for a viewer."""
