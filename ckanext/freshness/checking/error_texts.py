"""Decides whether a text reports an error in place of data: a stack trace, or an error in JSON or XML."""

from __future__ import annotations

import json
import re

_JSON_FORMATS = frozenset({"json", "jsonld", "geojson", "topojson"})
_PLAIN_TEXTS = frozenset({"txt", "text", "plaintext", "log"})
"""Formats of texts that may be about errors."""

_XML_FORMATS = frozenset({"xml", "kml", "gml", "wfs", "gpx", "rss", "atom", "rdf", "rdfxml", "svg"})
"""Formats for which a server may send an error document in place of the data."""

_ERROR_SHAPES: tuple[tuple[str, str, str], ...] = (
    (
        "error",
        "errordescription erroruri state",
        "https://www.rfc-editor.org/rfc/rfc6749#section-5.2",
    ),
    ("error", "jsonrpc id", "https://www.jsonrpc.org/specification#error_object"),
    ("errors", "extensions", "https://spec.graphql.org/October2021/#sec-Response-Format"),
    ("errors", "jsonapi meta links", "https://jsonapi.org/format/#document-top-level"),
    ("message", "status code", "https://github.com/omniti-labs/jsend"),
    ("detail", "title status instance", "https://www.rfc-editor.org/rfc/rfc9457"),
    (
        "message exceptionmessage",
        "messagedetail exceptiontype stacktrace innerexception modelstate",
        "https://learn.microsoft.com/aspnet/web-api/overview/error-handling/",
    ),
    (
        "error message exception",
        "timestamp status path trace requestid",
        "https://docs.spring.io/spring-boot/reference/web/servlet.html#web.servlet.spring-mvc.error-handling",
    ),
    ("error", "help success", "https://docs.ckan.org/en/latest/api/"),
    ("error message", "code errorcode", "https://dev.socrata.com/docs/response-codes.html"),
    (
        "exceptions",
        "version",
        "https://docs.geoserver.org/stable/en/user/services/wfs/reference.html",
    ),
    (
        "error",
        "",
        "https://developers.arcgis.com/rest/services-reference/enterprise/error-handling/",
    ),
    (
        "odata.error",
        "",
        "https://www.odata.org/documentation/odata-version-3-0/json-verbose-format/",
    ),
    ("error message", "statuscode", "https://docs.nestjs.com/exception-filters"),
    ("message", "documentationurl", "https://docs.github.com/rest"),
    ("error errorcode", "traceid", "https://docs.opendatasoft.com/"),
    ("fault", "", "https://docs.apigee.com/api-platform/fundamentals/fault-handling"),
    ("errormessage msg", "success ok reason details", "APIs of portals' own"),
    (
        "erreur erreurs erro erros errore errori fehler fehlermeldung fout fouten chyba eroare virhe",
        "codigo codice codi kod fehlercode",
        "the same in other languages",
    ),
    ("descripcion mensaje mensagem messaggio", "estado codigo", "https://opendata.aemet.es/dist/"),
)
"""What JSON objects report errors with, what stands beside it, and where that is documented. Names are in small
letters, without ``_``. An object with other names holds data."""
_ERROR_NAMES = frozenset(" ".join(names for names, _, _ in _ERROR_SHAPES).split())
_WEAK_NAMES = frozenset(
    {"message", "msg", "detail", "descripcion", "mensaje", "mensagem", "messaggio"}
)
"""Names that report errors only if no status says otherwise."""
_BESIDE_ERRORS = frozenset(" ".join(beside for _, beside, _ in _ERROR_SHAPES).split())
_BESIDE_WEAK = frozenset(
    " ".join(
        beside for names, beside, _ in _ERROR_SHAPES if _WEAK_NAMES & set(names.split())
    ).split()
)
_NO_ERROR: tuple[object, ...] = (None, False, 0, "", [], {})
_RESULTS = ("data", "result")
"""Names of data. They may stand beside an error without any."""
_STATES = ("status", "success", "ok", "type", "estado")
"""Names of what says whether there is an error. In problem details (RFC 9457), the type does not."""
_BAD_STATE = re.compile(
    r"[45]\d\d|false|.*(?:error|exception|denied|unavailable)|err|fail(?:ed|ure)?|forbidden|unauthorized"
    r"|(?:not|bad|too|invalid)[_ ].*"
)
"""A status of an error, in small letters."""
_GOOD_STATE = re.compile(r"ok|true|success(?:ful(?:ly)?)?|2\d\d|0+")
_ENVELOPE = ("code", "message", "msg")
"""Names that say in an envelope without an error that all is well."""

_ERROR_TEXT = re.compile(
    r"""
    (?:[^\n]{1,100}\s)?Traceback\ \(most\ recent\ call\ last\):    # Python
    | (?:Exception\ in\ thread\ .{1,200}?\ |Unhandled\ exception.{0,40}?\s)?
      (?:[A-Za-z_$][\w$]{0,60}[./]){0,12}(?:[A-Z][\w$]{0,80})?(?:Exception|Error)
      (?:\ \(0x[0-9A-F]{8}\))?(?::\ [^\n]{0,500})?\r?\n\s+at\ \S     # Java, .NET, Node
    | \S{1,300}\.[cm]?[jt]s:\d{1,9}\r?\n                          # Node
    | panic:\ [^\n]{0,500}\n\s*goroutine\ \d                    # Go
    | (?:psql:[^\n]{0,200}?)?(?:ERROR|FATAL):\ \ \S              # PostgreSQL
    | psql:\ (?:error:|could\ not)
    | (?:ERROR(?:\ at\ line\ \d{1,9})?:\s{1,9})?ORA-\d{5}:          # Oracle
    | SP2-\d{4}:
    | ERROR\ \d{4}\ \([0-9A-Z]{5}\)                            # MySQL
    | mysqldump:\ |SQLSTATE\[
    | Msg\ \d{1,9},\ Level\ \d{1,3},\ State\ \d                # SQL Server
    | (?:PHP\ )?(?:Fatal|Parse)\ error:\ \ ?\S                # PHP
    | (?:(?:PHP\ )?(?:Warning|Notice|Deprecated):\ [^\n]{0,1000}\ on\ line\ \d{1,9}
      (?:[ \t]{0,9}\r?\n\s{0,9}|\s{0,9}\Z))+\Z
    | (?:Error|Warning)(?:\ in\ [^\n]{1,500})?:?[^\n]{0,500}(?:\n[^\n]{0,500}){0,20}\nExecution\ halted\b # R
    | [^\s:]{1,300}:\d{1,9}:in\ [`'][^\n]{1,500}\((?:\w|::){1,80}(?:Error|Exception)?\)\s  # Ruby
    | [^\n]{1,1000}\ at\ \S{1,300}\.p[lm]\ line\ \d{1,9}\.\s{0,9}\Z  # Perl
    | (?:ba|da|z)?sh:\ (?:line\ )?\d{1,9}:\ [^\n]{1,500}\s{0,9}\Z  # shells
    | upstream\ connect\ error\ or\ disconnect/reset  # Envoy
    | version\ https://git-lfs\.github\.com/spec/v1\s  # a pointer of Git LFS in place of the file
    """,
    re.VERBOSE,
)
"""The beginning of an error text of a program or a database."""
_ERROR_DOCUMENT = re.compile(
    r"""
    <(?:\w{1,20}:)?(?:Service)?ExceptionReport[\s>/]         # OGC
    | <(?:\w{1,20}:)?Envelope[^>]{0,1000}>\s{0,99}(?:<(?:\w{1,20}:)?Header.{0,2000}?)?
      <(?:\w{1,20}:)?Body[^>]{0,1000}>\s{0,99}<(?:\w{1,20}:)?Fault[\s>]   # SOAP
    | \A(?:<\?[^>]{0,200}>\s{0,99})?(?:
      # Amazon S3, Azure, WCF, SDMX, OData, RFC 9457, and portals' own
      <(?:\w{1,20}:)?(?i:errors?|exception|fault|problem|erreurs?|erro|errore|fehler)[\s>]
      | <OpenAPI_ServiceResponse>                             # data.go.kr
      | <OAI-PMH[\s>](?:(?!<record).){0,3000}?<error\s+code=["'](?!noRecordsMatch)
    )
    """,
    re.VERBOSE | re.DOTALL,
)
"""The beginning of an XML document that reports an error."""


def is_error_text(text: str, words: frozenset[str], *, takes_pages: bool) -> bool:
    """Return whether a short text reports an error.

    :param text: without blanks at its ends
    :param words: of the promised formats
    :param takes_pages: whether web pages are data under the promised formats
    """
    if text[:1] in "{[":
        return words.isdisjoint(_PLAIN_TEXTS) and _is_error_report(text, words)
    if text == "null":
        # Databases with an interface in JSON answer so where there is nothing.
        return not words.isdisjoint(_JSON_FORMATS)
    if text[:1] == "<":
        return not words.isdisjoint(_XML_FORMATS) and _ERROR_DOCUMENT.search(text) is not None
    is_data = words.isdisjoint(_PLAIN_TEXTS) and not takes_pages
    return is_data and _ERROR_TEXT.match(text) is not None


def _is_error_report(text: str, words: frozenset[str]) -> bool:
    """Return whether a JSON document only reports an error, or is no GeoJSON where that is promised."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    is_list = isinstance(found, list) and len(found) == 1
    found = found[0] if is_list else found
    if not isinstance(found, dict):
        return False
    if words.isdisjoint(_JSON_FORMATS):
        # As ArcGIS says it, whose services have many formats.
        return found.keys() == {"error"} and _has_code(found["error"])
    if "geojson" in words and not (is_list or {"type", "features"} & found.keys()):
        return True
    by_name = {name.lower().replace("_", ""): it for name, it in found.items()}
    return _only_reports_error(by_name) and (
        not is_list or not by_name.keys().isdisjoint(_ERROR_NAMES - _WEAK_NAMES)
    )


def _has_code(error: object) -> bool:
    return isinstance(error, dict) and isinstance(error.get("code"), int) and "message" in error


def _only_reports_error(found: dict[str, object]) -> bool:
    """Return whether an object has an error and no data.

    :param found: its values by their names in small letters
    """
    has_type = "type" in found and "title" not in found
    states = [
        str(found[name]).lower()
        for name in _STATES
        if name in found and (name != "type" or has_type)
    ]
    is_bad = any(map(_BAD_STATE.fullmatch, states))
    errors = found.keys() & _ERROR_NAMES
    strong = errors - _WEAK_NAMES
    beside = found.keys() - errors - (_BESIDE_ERRORS if strong else _BESIDE_WEAK)
    if is_bad or not has_type:
        beside.discard("type")
    for name in _RESULTS:
        if found.get(name) in _NO_ERROR or is_bad or found.get("error") is True:
            beside.discard(name)
    if not strong:
        states += [
            it for name in _ENVELOPE if _GOOD_STATE.fullmatch(it := str(found.get(name)).lower())
        ]
    if beside or any(map(_GOOD_STATE.fullmatch, states)):
        return False
    empty = {name for name in errors if found[name] in _NO_ERROR}
    if strong & empty or (not strong and (states or empty == errors)):
        return is_bad
    return True
