"""The words by which the name of a column says what its dates are, in the languages of European portals.

Names are compared in lower case, without accents, and split at whatever is no letter. Stems stand for all words
that contain them, as German joins words; add a stem only if no harmless word contains it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from unicodedata import combining, normalize


class Role(Enum):
    """What the dates of a column say of its rows."""

    OBSERVED = "observed"
    """When was that which a row tells of."""
    WRITTEN = "written"
    """When the row was written. It counts only if nothing else does."""
    OTHER = "other"
    """Something else, such as a birth, a plan or the making of the file."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OTHER_WORDS = _words(
    """
    born dob blt veh death died dead deceased deadline due expiry expires expire planned plan plans scheduled
    target projected projection expected founded established incorporated incorporation release released
    premiere debut model vintage built build construction constructed manufactured manufacture commissioned
    installed license licence hire hired joined retired age valid validity warranty copyright edition invented
    exported export extracted extract generated downloaded retrieved accessed fetched abgerufen
    deces prevu prevue creation echeance muerte vencimiento previsto prevista fundacion morte scadenza
    fondazione nascimento tod frist gultig narozeni urodzenia fodt syntymaaika
    """
)
_OTHER_STEMS = _words(
    """
    birth expir forecast predict founding foundation geburt sterbe ablauf gueltig baujahr gruendung grundung
    geplant prognose zulassung naissance nacimiento nascita caducidad geboorte vervaldatum fodelse planlagt
    yearbuilt
    """
)
_WRITTEN_WORDS = _words(
    """
    created create updated update modified modify changed inserted imported import loaded load scraped
    ingested processed entered added recorded published publication posted submitted checked verified revised
    edited timestamp erstellt aktualisiert geandert angelegt importiert stand maj cree modifie modification
    publie creado actualizado actualizacion modificado modificacion publicado creato aggiornato
    aggiornamento modificato pubblicato criado atualizado atualizacao bijgewerkt gewijzigd aangemaakt
    """
)
_WRITTEN_STEMS = _words("lastupdate aktualisierung anderungs aenderungs erfassung miseajour")

_PERIOD_WORDS = _words(
    """
    year years yr yrs fiscal annual season date dates time period day month quarter week jahr jahre
    berichtsjahr kalenderjahr haushaltsjahr schuljahr datum zeit zeitraum stichtag monat tag annee annees an
    exercice millesime periode mois ano anos anio ejercicio fecha periodo mes dia anno anni data mese giorno
    esercizio jaar maand rok roky roku lata ar aar arstal vuosi vuodet ev godina leto an anul etos aasta metai
    gads tid pvm dato
    """
)
"""Words under which four, six or eight digits are years, months and days."""

_PERIOD_ENDS = ("year", "date", "jahr", "datum")
_MOMENT_NAMES = _words(
    """
    date time timeperiod datetime day period obstime observationdate reportdate reportingdate eventdate
    sampledate timehour month week quarter year yearmonth yearmonthday datum zeit meldedatum stichtag
    berichtsdatum jahr monat fecha ano data anno dato pvm jour annee mois datetimeutc dateutc
    """
)
"""Whole names, without their blanks, of columns that say when."""

_ENDS = {
    **{"end": "start", "finish": "start", "stop": "start", "to": "from", "until": "from"},
    **{"ende": "beginn", "bis": "von", "fin": "debut", "fine": "inizio", "fim": "inicio"},
    **{"tot": "van", "einde": "begin", "slut": "start"},
}
"""The word for the beginning, by the word for the end."""

_WORKS = _words(
    "model title artist author isbn vin modell titel titre modele titulo modelo titolo modello"
)

_YEAR_NAMES = _words("year yr jahr annee ano anno jaar rok ar aar")
_MONTH_NAMES = _words("month mon mo monat mois mes mese maand miesiac manad maned")
_DAY_NAMES = _words("day dom tag jour dia giorno dag dzien dayofmonth")

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janvier janv enero ene gennaio gen janeiro januari styczen leden",
            "feb february februar fevrier fevr fev febrero febbraio fevereiro februari luty unor",
            "mar march marz maerz mrz mars marzo marco maart marec brezen",
            "apr april avril avr abril abr aprile kwiecien duben",
            "may mai mayo maggio mag maio mei maj kveten",
            "jun june juni juin junio giugno giu junho czerwiec cerven",
            "jul july juli juillet juil julio luglio lug julho lipiec cervenec",
            "aug august aout agosto ago augustus augusti sierpien srpen",
            "sep sept september septembre septiembre settembre set setembro wrzesien zari",
            "oct october okt oktober octobre octubre ottobre ott outubro out pazdziernik rijen",
            "nov november novembre noviembre novembro",
            "dec december dez dezember decembre diciembre dicembre dic dezembro grudzien prosinec",
        ),
        1,
    )
    for name in names.split()
}
"""The number of each month. Names that two languages give to different months are left out."""

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NO_LETTERS = re.compile(r"[^a-z]+")


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a column's name: in lower case, without accents, digits and signs."""
    split = _CAMEL.sub(" ", name[:200])
    plain = "".join(one for one in normalize("NFKD", split) if not combining(one))
    return tuple(filter(None, _NO_LETTERS.split(plain.casefold())))


def role_of(name: str) -> Role:
    """Return what the dates of a column are, by its name."""
    words = words_of(name)
    joined = "".join(words)
    if not _OTHER_WORDS.isdisjoint(words) or any(stem in joined for stem in _OTHER_STEMS):
        return Role.OTHER
    if not _WRITTEN_WORDS.isdisjoint(words) or any(stem in joined for stem in _WRITTEN_STEMS):
        return Role.WRITTEN
    return Role.OBSERVED


def names_period(name: str) -> bool:
    """Decide whether bare digits under a name may be years, months or days."""
    words = words_of(name)
    if any(word in _PERIOD_WORDS or word.endswith(_PERIOD_ENDS) for word in words):
        return True
    return "".join(words) in _MOMENT_NAMES


def names_year(name: str) -> bool:
    """Decide whether a name says no more than that its column has years."""
    return "".join(words_of(name)) in _YEAR_NAMES


def lists_works(names: Iterable[str]) -> bool:
    """Decide whether a table lists works or products, whose year is that of their making."""
    return any(not _WORKS.isdisjoint(words_of(name)) for name in names)


def names_moment(name: str) -> bool:
    """Decide whether a name says that its column tells when, and nothing more."""
    return "".join(words_of(name)) in _MOMENT_NAMES


def beginnings_of(name: str) -> set[tuple[str, ...]]:
    """Return the words of columns that would be the beginning of a period of which a column is the end."""
    words = words_of(name)
    return {
        (*words[:place], _ENDS[word], *words[place + 1 :])
        for place, word in enumerate(words)
        if word in _ENDS
    }


def parts_of_date(names: Sequence[str]) -> tuple[int, ...]:
    """Return the places of the columns for year, month and perhaps day; none without year or month."""
    found = []
    for words in (_YEAR_NAMES, _MONTH_NAMES, _DAY_NAMES):
        places = [place for place, name in enumerate(names) if "".join(words_of(name)) in words]
        if len(places) != 1:
            break
        found += places
    return tuple(found) if len(found) > 1 else ()
