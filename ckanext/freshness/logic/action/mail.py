"""Actions by which people choose the mails that they receive."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk

from ...ckan_adapter.ckan_core import model
from ...mails import recipients
from ...mails.kinds import KINDS
from ..arguments import flag

__all__ = ["freshness_opt_out", "freshness_opt_out_show"]


def freshness_opt_out(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Switch mails about freshness off, or on again.

    :param opted_out: false to receive all mails (optional, default: true)
    :param kinds: the kinds of mails to switch off, a list; all others are switched on (optional, default: all)
    :param address: an e-mail address, only for sysadmins (optional, default: the user's own)
    :returns: the same as ``freshness_opt_out_show``
    :raises ValidationError: there is no address, a kind does not exist, or ``opted_out`` is neither true
        nor false
    """
    tk.check_access("freshness_opt_out", context, data_dict)
    address = _address(context, data_dict)
    opted_out = flag(data_dict, "opted_out", default=True)
    recipients.write(address, _kinds(data_dict) if opted_out else ())
    return _plain(address)


@tk.side_effect_free
def freshness_opt_out_show(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Return the mails about freshness that an address has switched off.

    :param address: an e-mail address, only for sysadmins (optional, default: the user's own)
    :returns: ``address``, ``opted_out`` (whether all mails are switched off), ``kinds`` (the kinds that are
        switched off)
    :raises ValidationError: there is no address
    """
    tk.check_access("freshness_opt_out_show", context, data_dict)
    return _plain(_address(context, data_dict))


def _plain(address: str) -> dict[str, Any]:
    person = recipients.people([address])[address]
    off = [kind for kind in KINDS if not person.wants(kind)]
    return {"address": address, "opted_out": len(off) == len(KINDS), "kinds": off}


def _kinds(data_dict: dict[str, Any]) -> list[str]:
    given = data_dict.get("kinds")
    if given is None:
        return [recipients.EVERY_KIND]
    if not isinstance(given, list) or any(one not in list(KINDS) for one in given):
        words = tk._("must be a list of these: {allowed}")
        raise tk.ValidationError({"kinds": [words.format(allowed=", ".join(KINDS))]})
    return given


def _address(context: dict[str, Any], data_dict: dict[str, Any]) -> str:
    given = data_dict.get("address")
    if given in (None, ""):
        user = model.User.get(context["user"])
        given = None if user is None else user.email
        words = tk._("You have no e-mail address here: there is nothing to opt out of")
    else:
        words = tk._("This is no e-mail address")
    found = recipients.addresses(given if isinstance(given, str) else None)
    if len(found) != 1:
        raise tk.ValidationError({"address": [words]})
    return found[0]
