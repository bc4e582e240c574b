"""Problems to learn from that need no download: real digits, and seeded synthetic ones."""
