"""Actions by which people opt out of mails, and in again."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk

from ...ckan_adapter import model
from ...dates import utc_now
from ...mails import addresses, opt_outs
from ..arguments import flag

__all__ = ["freshness_opt_out", "freshness_opt_out_show"]


def freshness_opt_out(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Opt out of mails about freshness, or in again.

    :param opted_out: true for no mails (optional, default: true)
    :param address: an e-mail address, only for sysadmins (optional, default: the user's own)
    :returns: the same as ``freshness_opt_out_show``
    :raises ValidationError: there is no address, or ``opted_out`` is neither true nor false
    """
    tk.check_access("freshness_opt_out", context, data_dict)
    address = _address(context, data_dict)
    opted_out = flag(data_dict, "opted_out", default=True)
    opt_outs.write(address, utc_now(), opted_out=opted_out)
    return {"address": address, "opted_out": opted_out}


@tk.side_effect_free
def freshness_opt_out_show(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Return whether an address has opted out of mails about freshness.

    :param address: an e-mail address, only for sysadmins (optional, default: the user's own)
    :returns: ``address``, ``opted_out``
    :raises ValidationError: there is no address
    """
    tk.check_access("freshness_opt_out_show", context, data_dict)
    person = opt_outs.of_address(_address(context, data_dict))
    return {"address": person.address, "opted_out": person.opted_out}


def _address(context: dict[str, Any], data_dict: dict[str, Any]) -> str:
    given = data_dict.get("address")
    if given in (None, ""):
        user = model.User.get(context["user"])
        given = None if user is None else user.email
        words = tk._("You have no e-mail address here: there is nothing to opt out of")
    else:
        words = tk._("This is no e-mail address")
    found = addresses.parse(given if isinstance(given, str) else None)
    if len(found) != 1:
        raise tk.ValidationError({"address": [words]})
    return found[0]
