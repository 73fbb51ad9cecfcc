"""Runs of checks, and the nightly run."""
