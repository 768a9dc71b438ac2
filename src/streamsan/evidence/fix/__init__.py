"""An edit that makes a trace right, found by trying."""
