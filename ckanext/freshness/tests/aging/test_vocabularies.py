"""The lists of update frequencies in vocabularies.yaml: what holds for all, and what people really wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from unicodedata import combining, normalize

import pytest
import yaml

from ckanext.freshness.aging.frequency import VOCABULARIES, parse
from ckanext.freshness.aging.vocabularies import (
    AS_NEEDED,
    FILE,
    LIVE,
    MAX_DAYS,
    NEVER,
    Reason,
    TermList,
    term_lists,
)

NOTHING = Reason.UNSPECIFIED
UNKNOWN = Reason.NOT_UNDERSTOOD

LISTS = term_lists()
AMBIGUOUS = yaml.safe_load(FILE.read_text(encoding="utf-8"))["ambiguous"]
EU_LABELS = json.loads(
    (FILE.parents[1] / "tests" / "data" / "eu_frequencies.json").read_text(encoding="utf-8")
)

EARLIER = {"R/PT1S"}
"""Terms that a later vocabulary reads otherwise: ISO 8601 reads every second, which is daily in HDX's days."""


def outcome(value: object) -> int | Reason:
    result = parse(value)
    return result if isinstance(result, int) else result.reason


def in_any_case(text: str) -> Iterator[str]:
    yield from (text, text.upper(), text.lower(), f"  {text}\t\n", f"\u00a0{text}")


def written(each: TermList, term: str) -> Iterator[str]:
    """Yield the ways in which people write a term of a list."""
    yield from in_any_case(term)
    for beginning in each.iris:
        iri = beginning.replace("*", "resource/") + term
        yield from in_any_case(f"http://{iri}")
        yield from (f"https://{iri}", f"http://{iri}/")
    if each.kind == "words":
        yield from (f"{term}.", term.replace(" ", "-"), term.replace(" ", "_"), term.title())
        yield "".join(one for one in normalize("NFD", term) if not combining(one))
        yield re.sub("[äöüå]", lambda letter: AS_TWO[letter[0]], term)


AS_TWO = {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa"}


@pytest.mark.parametrize("each", LISTS.values(), ids=LISTS)
def test_a_term_has_its_meaning_in_every_way_to_write_it(each: TermList) -> None:
    wrong = {
        text: found
        for term, meaning in each.terms.items()
        for text in written(each, term)
        if (found := outcome(text)) != meaning
    }
    assert wrong == {}


def test_no_term_has_two_meanings() -> None:
    readers = [*LISTS.values(), *VOCABULARIES]
    terms = {term for each in LISTS.values() for term in each.terms}
    meanings = {term: {reader.read(term) for reader in readers} - {None} for term in terms}
    assert {term for term, found in meanings.items() if len(found) > 1} == EARLIER


def test_ambiguous_words_are_not_understood() -> None:
    texts = [text for word in AMBIGUOUS for text in in_any_case(word)]
    assert {text: outcome(text) for text in texts} == dict.fromkeys(texts, UNKNOWN)


# What others say about the same terms.


@pytest.mark.parametrize("language", ["en", "de", "fr", "es"])
def test_a_label_of_the_eu_means_what_its_code_means(language: str) -> None:
    labels = {labels[language]: outcome(code) for code, labels in EU_LABELS.items()}
    assert {label: outcome(label) for label in labels} == labels


STANDARDS = "http://standards.iso.org/iso/19115/resources/Codelists/cat/codelists.xml#"
GMX = "http://www.isotc211.org/2005/resources/Codelist/gmxCodelists.xml#"
INSPIRE = "http://inspire.ec.europa.eu/metadata-codelist/MaintenanceFrequency/"
MOBILITY = "https://w3id.org/mobilitydcat-ap/update-frequency/"
OP = "http://publications.europa.eu/"

REAL: dict[str, int | Reason] = {
    # The EU's table, also at its former addresses.
    "WEEKLY_5": 2,
    "OP_DATPRO": NOTHING,
    f"{OP}resource/authority/frequency/BIMONTHLY": 60,
    f"{OP}mdr/resource/authority/frequency/IRREG": AS_NEEDED,
    f"{OP}mdr/resource/authority/frequency/skos/frequencies-skos.rdf#DECENNIAL": 3650,
    f"{OP}resource/authority/frequency#NOT_PLANNED": NEVER,
    # Dublin Core and Project Open Data.
    "http://purl.org/cld/freq/threeTimesAYear": 120,
    "completelyIrregular": AS_NEEDED,
    "R/PT1S": LIVE,
    # SDMX, as Estonia's portal and the ONS write it. A bare letter may mean anything.
    "http://purl.org/linked-data/sdmx/2009/code#freq-A": 365,
    "A": UNKNOWN,
    # ISO 19115, with and without the list's name.
    f"{STANDARDS}monthly": 30,
    f"{STANDARDS}asNeeded": AS_NEEDED,
    f"{STANDARDS}MD_MaintenanceFrequencyCode_fortnightly": 14,
    f"{GMX}MD_MaintenanceFrequencyCode_continual": LIVE,
    f"{GMX}MD_ScopeCode_dataset": UNKNOWN,
    f"{INSPIRE}biannually": 180,
    "MD_MaintenanceFrequencyCode_notPlanned": NEVER,
    "2annually": 730,
    # mobilityDCAT-AP and EML.
    f"{MOBILITY}5min": 1,
    f"{MOBILITY}3-months": 90,
    f"{MOBILITY}less-than-yearly": NOTHING,
    "unkown": NOTHING,
    # data.gouv.fr and dane.gov.pl.
    "fortnighly": 14,
    "punctual": AS_NEEDED,
    # English forms.
    "Weekdays": 2,
    "1 time per year": 365,
    "no longer maintained": NEVER,
    "tri-annual": UNKNOWN,
    "near-realtime": LIVE,
    "Quinquennially": 1825,
    # Words of national portals, with and without their accents.
    "jaehrlich": 365,
    "Unregelmässig": AS_NEEDED,
    "Zweimal im Monat": 15,
    "Temps réel": LIVE,
    "Tre volte all\u2019anno": 120,
    "Não planeado": NEVER,
    "Varannan månad": 60,
    "vart 10:e år": 3650,
    "Opdateres løbende": LIVE,
    "actualizare continuă": LIVE,
    "δεκαπενθήμερη": 15,
    # Everyday words, of portals whose forms have no list.
    "14-täglich": 14,
    "única vez": NEVER,
    # Forms of data.gov.ua and data.go.th, and other scripts. Letters have two widths, and hyphens many forms.
    "immediately after making changes": AS_NEEDED,
    "Відразу після внесення змін": AS_NEEDED,
    "раз на п\u02bcять років": 1825,
    "ไม่มีการปรับปรุงหลังจากการจัดเก็บข้อมูล": NEVER,
    "אחת לחצי\u05beשנה": 180,
    "年１回": 365,
    "İki ayda bir": 60,
    # Not to be guessed.
    "decadal": UNKNOWN,
    "เดือน": UNKNOWN,
    "mai": UNKNOWN,
    "Bilunar": UNKNOWN,
    "-7 days": UNKNOWN,
    "every 1.5 years": UNKNOWN,
    "monthly, weekly": UNKNOWN,
}
"""Values of catalogues, and their days: one for each line of the file that `COMMON` does not reach."""


COMMON = """
german täglich wöchentlich monatlich vierteljährlich halbjährlich jährlich unregelmäßig unbekannt
french quotidien hebdomadaire mensuel trimestriel semestriel annuel irrégulier inconnu
spanish diario semanal mensual trimestral semestral anual irregular desconocido
italian quotidiano settimanale mensile trimestrale semestrale annuale irregolare sconosciuto
portuguese diário semanal mensal trimestral semestral anual irregular desconhecido
dutch dagelijks wekelijks maandelijks driemaandelijks halfjaarlijks jaarlijks onregelmatig onbekend
swedish dagligen veckovis månatligen kvartalsvis halvårs årligen oregelbundet okänd
norwegian daglig ukentlig månedlig kvartalsvis halvårlig årlig uregelmessig ukjent
dutch elke-dag 1-x-per-week eens-per-maand per-kwartaal 2x-per-jaar een-keer-per-jaar onregelmatig onbekend
swedish varje-dag varje-vecka månadsvis varje-kvartal två-gånger-per-år varje-år vid-behov okänd
norwegian hver-dag hver-uke hver-måned hvert-kvartal to-ganger-i-året hvert-år etter-behov ukjent
finnish joka-päivä kerran-viikossa joka-kuukausi vuosineljänsittäin puolivuosittain joka-vuosi tarvittaessa muut
polish dziennie tygodniowo miesięcznie kwartalnie półrocznie rocznie nieregularnie nieznany
czech denně týdně měsíčně čtvrtletně pololetně ročně nepravidelně neznámý
greek ημερησίως εβδομαδιαίως μηνιαίως τριμηνιαίως εξαμηνιαίως ετησίως κατά-περίπτωση άγνωστη
danish dagligt ugentligt månedligt kvartalsvis halvårligt årligt uregelmæssig ubekendt
finnish päivittäin viikoittain kuukausittain neljännesvuosittain puolivuotinen vuotuinen tarvittaessa tuntematon
polish codziennie co-tydzień co-miesiąc co-kwartał co-pół-roku co-rok nieregularny nieznany
czech denní týdenní měsíční čtvrtletní pololetní roční nepravidelný neznámý
romanian zilnic săptămânal lunar trimestrial semestrial anual neregulat necunoscut
greek ημερήσια εβδομαδιαία μηνιαία τριμηνιαία εξαμηνιαία ετήσια μη-τακτική άγνωστη
catalan diària setmanal mensual trimestral semestral anual irregular desconegut
ukrainian щодня щотижня щомісяця щокварталу раз-на-півроку щороку за-потреби невідомо
croatian dnevno tjedno mjesečno tromjesečno polugodišnje godišnje po-potrebi nepoznato
slovene dnevno tedensko mesečno četrtletno polletno letno po-potrebi neznano
latvian katru-dienu reizi-nedēļā reizi-mēnesī reizi-ceturksnī reizi-pusgadā reizi-gadā pēc-vajadzības
hebrew יומי שבועי חודשי רבעוני חצי-שנתי שנתי לפי-הצורך לא-ידוע
thai ทุกวัน ทุกสัปดาห์ ทุกเดือน ทุกไตรมาส ทุก-6-เดือน ทุกปี ไม่แน่นอน ไม่ทราบ
indonesian harian mingguan bulanan triwulanan semesteran tahunan sewaktu-waktu lainnya
japanese 毎日 毎週 毎月 四半期ごと 半年ごと 毎年 随時 不明
turkish her-gün haftada-bir her-ay üç-ayda-bir senede-iki senede-bir düzensiz bilinmiyor
basque egunero astero hilero hiruhilero seihilero urtero
"""
"""By language, what is written most for every day, week, month, quarter, half year, year and so on."""


@pytest.mark.parametrize("row", COMMON.strip().splitlines(), ids=lambda row: row.split()[0])
def test_the_common_words_of_a_language(row: str) -> None:
    language, *words = row.split()
    expected = [1, 7, 30, 90, 180, 365, AS_NEEDED, NOTHING][: len(words)]
    assert [LISTS[language].read(word) for word in words] == expected
    assert [outcome(word) for word in words] == expected


@pytest.mark.parametrize(("text", "expected"), REAL.items())
def test_what_people_wrote(text: str, expected: int | Reason) -> None:
    assert outcome(text) == expected


def test_the_file_is_well_formed() -> None:
    entries = yaml.safe_load(FILE.read_text(encoding="utf-8"))["vocabularies"]
    assert [entry["name"] for entry in entries] == list(LISTS)
    for entry in entries:
        texts = [term.strip() for line in entry["terms"].values() for term in str(line).split(",")]
        assert all(texts) and len(set(texts)) == len(texts), entry["name"]
        days = [meaning for meaning in entry["terms"] if isinstance(meaning, int)]
        assert all(0 < number <= MAX_DAYS for number in days), entry["name"]
