"""Records what an unmodified program asks of its GPU: starting it, reading where its calls came from, its files."""
