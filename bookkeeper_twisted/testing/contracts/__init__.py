"""One suite for each seam, which every provider of it passes, real or simulated."""
