"""Actions that register, list, test and delete webhooks."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk

from ..ckan_adapter.core import model, same_user
from ..dates import utc_now, utc_text
from ..mails import webhooks
from ..mails.webhook_events import TOPICS
from ..model import Webhook, WebhookDelivery
from ..reporting import visibility

__all__ = [
    "freshness_webhook_create",
    "freshness_webhook_delete",
    "freshness_webhook_list",
    "freshness_webhook_test",
]

_LOGGED = 20


def freshness_webhook_create(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Register a URL that is told of events by POST. It is told only what every visitor may see.

    :param url: the URL
    :param events: what to tell, a list of ``data``, ``status``, ``link``, ``source`` and ``deletion``
    :param organization: name or id of the organization whose events are told (optional; without it those of
        the whole site, only for sysadmins)
    :returns: the webhook, as in ``freshness_webhook_list``, with the ``secret`` to verify signatures, which is
        never shown again
    :raises ValidationError: the URL cannot be requested or is inside the network, there is no such event, or
        there are 20 webhooks
    """
    tk.check_access("freshness_webhook_create", context, data_dict)
    url, topics = str(data_dict.get("url") or ""), data_dict.get("events", [])
    organization_id = _organization_id(context, data_dict)
    registered = _of(organization_id)
    wrong: dict[str, list[str]] = {}
    if not url:
        wrong["url"] = [tk._("Enter the address (URL) that takes events.")]
    elif refusal := webhooks.refusal(url):
        wrong["url"] = [refusal]
    if registered.filter_by(url=url).count():
        # A page that shows a secret may be loaded again.
        words = tk._(
            "This address is registered already. Delete the webhook to get another secret."
        )
        wrong["url"] = [words]
    if not isinstance(topics, list) or not topics or any(one not in [*TOPICS] for one in topics):
        words = tk._("Choose what it is told, a list of these events: {allowed}")
        wrong["events"] = [words.format(allowed=", ".join(TOPICS))]
    if registered.count() >= webhooks.MOST_WEBHOOKS:
        wrong["limit"] = [tk._("There are too many webhooks. Delete one that is not needed.")]
    if wrong:
        raise tk.ValidationError(wrong)
    author_id = model.User.get(context["user"]).id
    made = webhooks.register(url, set(topics), organization_id, author_id, utc_now())
    return {**_plain(made, made.url), "secret": webhooks.secret(made.id)}


@tk.side_effect_free
def freshness_webhook_list(
    context: dict[str, Any], data_dict: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the webhooks of an organization or of the whole site, the oldest first.

    :param organization: name or id of the organization (optional; without it those of the whole site, only
        for sysadmins)
    :returns: of each ``id``, ``url`` (only the beginning, unless you registered it or are a sysadmin, since the
        rest may be secret), ``events``, ``created_at``; ``failing_since`` (when attempts began to
        fail; null if the last one did not), ``disabled_at`` (null while it is on), and ``log``: the last 20
        events, the newest first, each with ``id``, ``event``, ``created_at``, ``attempts``, ``answer`` (the
        status, or why there was none), ``delivered_at`` and ``next_at`` (both null if it was given up)
    """
    tk.check_access("freshness_webhook_list", context, data_dict)
    organization_id = _organization_id(context, data_dict)
    reader = model.User.get(context["user"])
    return [
        _plain(one, one.url if _sees_all(reader, one) else webhooks.masked(one.url))
        for one in _of(organization_id).order_by(Webhook.created_at)
    ]


def _sees_all(reader: Any, webhook: Any) -> bool:
    return reader is not None and (reader.sysadmin or reader.id == webhook.author_id)


def freshness_webhook_test(context: dict[str, Any], data_dict: dict[str, Any]) -> None:
    """Have a background worker send a test. If it is taken, a webhook that was switched off is on again.

    :param id: id of the webhook
    """
    tk.check_access("freshness_webhook_test", context, data_dict)
    webhooks.add_test(_webhook(data_dict), utc_now())
    tk.enqueue_job(webhooks.tell, title="Test of a webhook")


def freshness_webhook_delete(context: dict[str, Any], data_dict: dict[str, Any]) -> None:
    """Delete a webhook with its log.

    :param id: id of the webhook
    """
    tk.check_access("freshness_webhook_delete", context, data_dict)
    webhooks.delete(_webhook(data_dict))


def _organization_id(context: dict[str, Any], data_dict: dict[str, Any]) -> str | None:
    given = data_dict.get("organization")
    return visibility.organization(same_user(context), given)["id"] if given else None


def _of(organization_id: str | None) -> Any:
    return model.Session.query(Webhook).filter(
        Webhook.organization_id.is_not_distinct_from(organization_id)
    )


def _webhook(data_dict: dict[str, Any]) -> Any:
    found = model.Session.get(Webhook, tk.get_or_bust(data_dict, "id"))
    if found is None:
        raise tk.ObjectNotFound(tk._("Webhook not found"))
    return found


def _plain(webhook: Any, url: str) -> dict[str, Any]:
    told = model.Session.query(WebhookDelivery).filter(
        WebhookDelivery.webhook_id == webhook.id, WebhookDelivery.body.is_not(None)
    )
    moments = ("created_at", "failing_since", "disabled_at")
    return {
        "id": webhook.id,
        "url": url,
        "events": list(webhook.topics),
        **{name: utc_text(getattr(webhook, name)) for name in moments},
        "log": [
            {
                "id": f"msg_{webhook.id}_{row.id}",
                "event": row.event,
                "attempts": row.attempts,
                "answer": row.answer,
                **{
                    name: utc_text(getattr(row, name))
                    for name in ("created_at", "delivered_at", "next_at")
                },
            }
            for row in told.order_by(WebhookDelivery.id.desc()).limit(_LOGGED)
        ],
    }
