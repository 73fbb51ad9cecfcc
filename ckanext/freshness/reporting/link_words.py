"""Sentences that explain why a link failed or could not be checked. Pure."""

from __future__ import annotations

from http import HTTPStatus

from ..aging.messages import N_
from ..web.errors import FailureReason

BLOCKED = N_("The server blocks automated checks. The link may still work in a browser.")

STATUSES = {
    202: N_("The server has not finished the file yet ({answer})."),
    401: N_("The server asks for a login ({answer})."),
    403: N_("The server blocks automated checks ({answer}). The link may still work in a browser."),
    404: N_("The file is gone ({answer})."),
    407: N_("The server asks for a login ({answer})."),
    410: N_("The file was removed for good ({answer})."),
    429: N_("The server limits the number of requests ({answer}). The link may work in a browser."),
    451: N_("The server withholds the file for legal reasons ({answer})."),
}
"""Sentences by status; ``answer`` is the status with its standard phrase."""

_SERVER_ERROR = N_("The server reports an error ({answer}).")
_OTHER_STATUS = N_("The server does not return the file ({answer}).")
_UNKNOWN = N_("The file could not be read.")

REASONS = {
    FailureReason.INVALID_URL.value: N_("This is not a valid web address."),
    FailureReason.SCHEME_REFUSED.value: N_(
        "Only links that begin with http:// or https:// can be checked."
    ),
    FailureReason.INSIDE_ADDRESS.value: N_(
        "The link leads into a private network, where this portal sends no requests."
    ),
    FailureReason.HOST_NOT_ALLOWED.value: N_("This portal may not contact this server."),
    FailureReason.ROBOTS.value: BLOCKED,
    FailureReason.HOST_DEFERRED.value: N_("The server asked us to wait. We check it again later."),
    FailureReason.HOST_SILENT.value: N_(
        "The server answers no requests at the moment. We check it again later."
    ),
    FailureReason.TOO_LARGE.value: N_("The file is too large to be checked."),
    FailureReason.INVALID_REQUEST.value: N_("No request can be sent to this web address."),
    FailureReason.NAME_NOT_FOUND.value: N_("There is no server of this name."),
    FailureReason.NAME_LOOKUP_FAILED.value: N_("The server's name could not be looked up."),
    FailureReason.CONNECTION_REFUSED.value: N_("The server refused the connection."),
    FailureReason.CONNECTION_RESET.value: N_("The server broke off the connection."),
    FailureReason.UNREACHABLE.value: N_("The server cannot be reached."),
    FailureReason.PROXY.value: N_("This portal's connection failed. We check the link again."),
    FailureReason.OUT_OF_SOCKETS.value: N_(
        "This portal had too many open connections. We check the link again."
    ),
    FailureReason.TLS_EXPIRED.value: N_("The server's security certificate is out of date."),
    FailureReason.TLS_SELF_SIGNED.value: N_("The server's security certificate is self-signed."),
    FailureReason.TLS_WRONG_NAME.value: N_(
        "The server's security certificate belongs to another address."
    ),
    FailureReason.TLS_UNTRUSTED.value: N_("The server's security certificate is not trusted."),
    FailureReason.TLS_FAILED.value: N_("A secure connection to the server failed."),
    FailureReason.CONNECT_TIMEOUT.value: N_("The server took too long to answer."),
    FailureReason.READ_TIMEOUT.value: N_("The server took too long to answer."),
    FailureReason.TOTAL_TIMEOUT.value: N_("The download took too long."),
    FailureReason.REDIRECT_LOOP.value: N_("The link redirects in a circle."),
    FailureReason.TOO_MANY_REDIRECTS.value: N_("The link redirects too often."),
    FailureReason.TRUNCATED.value: N_("The download ended before the file was complete."),
    FailureReason.MALFORMED.value: N_("The server's answer could not be read."),
    # Reasons that are not a failed request, of checks and of update cycles
    "format": N_("The server sent something else instead of the file, such as a web page."),
    "ssl_error": N_("A secure connection to the server failed."),
    "connection_timeout": N_("The server took too long to answer."),
    "too_many_redirects": N_("The link redirects too often."),
    "connection_error": N_("The connection to the server failed."),
    "other_error": _UNKNOWN,
    "store_error": N_("This portal could not store the file."),
}
"""Sentences by the reason that is stored with a check. Subpackages above add theirs."""


def problem(status: int | None, reason: str | None, *, blocked: bool) -> tuple[str, str]:
    """Return the sentence that explains a failed check, and the value of its placeholder ``answer``.

    The sentence is marked for translation. The answer is a status with its name, or empty.

    :param status: HTTP status of the last answer; None if there was no answer
    :param reason: the stored reason of the failure; without a sentence in :data:`REASONS`, the status decides
    :param blocked: whether the server blocked the check, so that the file may still exist
    """
    if reason in REASONS:
        return REASONS[reason], ""
    if status is None:
        return _UNKNOWN, ""
    answer = _answer(status)
    if status in STATUSES:
        return STATUSES[status], answer
    if blocked:
        return BLOCKED, answer
    return (_SERVER_ERROR if status >= 500 else _OTHER_STATUS), answer


def _answer(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
