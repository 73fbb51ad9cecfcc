"""This extension's own actions, by subject, and the actions of CKAN and ckanext-harvest that it wraps."""

from __future__ import annotations

from . import check, freshness, harvest, report

OWN = {
    name: getattr(module, name)
    for module in (check, freshness, harvest, report)
    for name in module.__all__
}
"""This extension's own actions by name."""
