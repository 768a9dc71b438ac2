"""What is reported: findings, and what suppresses them."""
