"""FAIR Data Points: where their records are listed, and how they are read."""
