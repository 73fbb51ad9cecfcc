"""CKAN's protection against forged requests."""

from __future__ import annotations

from flask import Blueprint


def exempt_from_csrf(blueprint: Blueprint) -> None:
    """Let programs without a session post to a blueprint's pages, whose URLs themselves say who may."""
    # Known only once CKAN's application is being made.
    from ckan.config.middleware.flask_app import csrf

    csrf.exempt(blueprint)
