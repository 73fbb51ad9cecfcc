"""Who may keep what is answered."""

from __future__ import annotations

import ckan.plugins.toolkit as tk


def for_nobody_else() -> None:
    """No cache of several people may keep the answer to this request, which depends on who asks.

    CKAN calls all others ``public``, whatever their headers said; it knows of sessions, and not of tokens.
    """
    tk.request.environ["__no_cache__"] = True
