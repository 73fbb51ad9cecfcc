"""The command ``ckan freshness``."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from time import monotonic
from typing import Any
from uuid import uuid4

import ckan.plugins.toolkit as tk
import click

from .ckan_adapter import solr_commit, without_solr_commits
from .doctor import Severity
from .doctor.examination import examine
from .harvesting.preview import Entry, NotOurs, Preview
from .harvesting.preview import preview as make_preview
from .harvesting.source_config import ConfigError
from .harvesting.strategy import Kind
from .logic import frequency_table, uninstalling
from .logic.action import harvest_source
from .logic.indexing import SolrAwayError
from .logic.refresh import refresh as bring_up_to_date
from .logic.workers import WorkerError
from .settings import OptionError

__all__ = ["freshness"]


@click.group()
def freshness() -> None:
    """Harvests that can be trusted."""


@freshness.command()
@click.argument("source")
@click.option("--json", "as_json", is_flag=True, help="For programs, on standard output.")
def preview(source: str, as_json: bool) -> None:
    """Show what the next job of SOURCE (id or name) would do; nothing is written.

    Ends with 1 if the source could not be read.
    """
    row = _source(source)
    counter = Counter(tk._("records read"))
    try:
        made = make_preview(row, now=datetime.now(timezone.utc), progress=counter.show)
    except (NotOurs, ConfigError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        counter.end()
    if as_json:
        click.echo(json.dumps(made.as_dict(), indent=2, ensure_ascii=False))
    else:
        for line in preview_lines(made):
            click.echo(line)
    if not made.answered:
        raise click.exceptions.Exit(1)


@freshness.command()
@click.argument("source")
@click.option("--yes", is_flag=True, help="Do not ask.")
def release(source: str, yes: bool) -> None:
    """Let the next job of SOURCE (id or name) delete what is held.

    Shows the list and asks first. The release is for exactly this list and the next job.
    """
    context = {"user": _site_user(), "ignore_auth": True}
    source_id = _source(source).id
    hold = tk.get_action("freshness_harvest_hold_show")(dict(context), {"id": source_id})
    if hold is None:
        raise click.ClickException(tk._("No deletions of this source are held"))
    click.echo(f"{hold['held_at']}: {hold['reason']}")
    for record in hold["held"]:
        click.echo(f"  {record['url']}  {record['reason']}  {record['title'] or ''}".rstrip())
    if hold["released_at"]:
        click.echo(
            tk._("Released already, by {user} on {moment}").format(
                user=hold["released_by"], moment=hold["released_at"]
            )
        )
        return
    if not yes:
        question = tk._("Let the next job delete these {count} datasets?")
        click.confirm(question.format(count=hold["count"]), abort=True)
    try:
        tk.get_action("freshness_harvest_release")(
            dict(context), {"id": source_id, "list_id": hold["list_id"]}
        )
    except tk.ValidationError as error:
        raise click.ClickException(" ".join(error.error_dict["list_id"])) from error
    click.echo(tk._("Released: {count} datasets").format(count=hold["count"]))


@freshness.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def doctor(as_json: bool) -> None:
    """Say what is wrong with this site's harvests, and which command helps.

    Ends with 1 if something is wrong.
    """
    findings = list(examine(datetime.now(timezone.utc)))
    wrong = any(one.severity is Severity.PROBLEM for one in findings)
    if as_json:
        plain = [
            {"severity": one.severity.value, "what": one.what, "advice": one.advice}
            for one in findings
        ]
        click.echo(json.dumps({"ok": not wrong, "findings": plain}, indent=2, ensure_ascii=False))
    else:
        for one in findings:
            click.echo(f"{one.severity.value.upper()}: {one.what}")
            if one.advice:
                click.echo(f"  -> {one.advice}")
        if not wrong:
            click.echo(tk._("Nothing is wrong."))
    if wrong:
        raise click.exceptions.Exit(1)


@freshness.command()
@click.option("--all", "everything", is_flag=True, help="Judge every dataset anew.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Processes that share the work.",
)
def refresh(everything: bool, workers: int) -> None:
    """Write the statuses that changed because time passed; run it every few minutes.

    With --all for a catalogue that existed before this extension, and after a change of its options.
    It may run twice at once, and what was interrupted is made good by the next run. Ends with 1 if
    something could not be indexed.
    """
    try:
        with _progress(tk._("datasets")) as progress:
            done = bring_up_to_date(
                datetime.now(timezone.utc),
                run_id=str(uuid4()),
                everything=everything,
                workers=workers,
                progress=progress,
            )
    except SolrAwayError as error:
        words = tk._("Solr does not answer; the next refresh indexes what is missing: {error}")
        raise click.ClickException(words.format(error=error)) from error
    except (OptionError, WorkerError) as error:
        raise click.ClickException(str(error)) from error
    words = tk._("Looked at {datasets} datasets: {changed} changed")
    click.echo(words.format(datasets=done.datasets, changed=done.changed))
    if done.healed:
        words = tk._("Indexed {count} datasets of a run that was interrupted")
        click.echo(words.format(count=done.healed))
    if done.reaped:
        click.echo(tk._("Forgot {count} datasets that are gone").format(count=done.reaped))
    for failure in done.failures:
        words = tk._("Dataset {dataset} could not be indexed: {error}")
        click.echo(words.format(dataset=failure.package_id, error=failure.words), err=True)
    if done.failures:
        raise click.exceptions.Exit(1)


@contextlib.contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; elsewhere a line every 30 seconds."""
    if not sys.stderr.isatty():
        counter = Counter(what)
        yield lambda done, total: counter.show(done)
        return
    with contextlib.ExitStack() as stack:
        bars: list[Any] = []

        def show(done: int, total: int) -> None:
            if not bars:
                bars.append(stack.enter_context(click.progressbar(length=total, file=sys.stderr)))
            bars[0].update(done - bars[0].pos)

        yield show


@freshness.command("set-frequency")
@click.option(
    "--csv",
    "file",
    type=click.File(encoding="utf-8-sig"),
    required=True,
    help="A file with the columns dataset (name or id) and frequency; - is standard input.",
)
@click.option("--dry-run", is_flag=True, help="Only say what is wrong with the file.")
def set_frequency(file: Iterable[str], dry_run: bool) -> None:
    """Set the update frequency of many datasets.

    Nothing is written while a line is wrong. Ends with 1 if a line could not be written.
    """
    try:
        lines = frequency_table.read(file)
    except (frequency_table.TableError, UnicodeDecodeError) as error:
        raise click.ClickException(str(error)) from error
    wrong = [_line(line, words) for line, words in frequency_table.problems(lines)]
    if wrong:
        raise click.ClickException("\n".join([tk._("Nothing was written:"), *wrong]))
    if dry_run:
        click.echo(tk._("{count} lines, all of them can be written").format(count=len(lines)))
        return
    context = {"user": _site_user(), "ignore_auth": True}
    counter, changed, refused = Counter(tk._("datasets")), 0, 0
    with without_solr_commits():
        for number, line in enumerate(lines, start=1):
            try:
                changed += frequency_table.write(dict(context), line)
            except tk.ValidationError as error:
                refused += 1
                click.echo(_line(line, str(error.error_summary or error.error_dict)), err=True)
            counter.show(number)
    counter.end()
    solr_commit()
    words = tk._("Changed: {changed}; as they were: {same}; refused: {refused}")
    same = len(lines) - changed - refused
    click.echo(words.format(changed=changed, same=same, refused=refused))
    if refused:
        raise click.exceptions.Exit(1)


@freshness.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
def uninstall(yes: bool) -> None:
    """Take this extension's extras out of all datasets.

    To be run before the plugin is taken out of ckan.plugins: every later edit writes them again.
    """
    batches = uninstalling.packages()
    count = sum(len(ids) for _, ids in batches)
    if not yes:
        click.confirm(
            tk._("Take the extras out of {count} datasets?").format(count=count), abort=True
        )
    counter = Counter(tk._("datasets"))
    for done in uninstalling.take_out(batches):
        counter.show(done)
    counter.end()
    words = tk._(
        "{count} datasets have none any more. Next: 'ckan db downgrade -p freshness' removes the tables; "
        "then take the plugins out of ckan.plugins."
    )
    click.echo(words.format(count=count))


def _line(line: frequency_table.Line, words: str) -> str:
    where = tk._("Line {number} ({dataset}): {words}")
    return where.format(number=line.number, dataset=line.dataset, words=words)


def preview_lines(made: Preview) -> list[str]:
    """A preview in words, a line for each record but the unchanged ones."""
    kinds = {
        Kind.NEW: tk._("New"),
        Kind.CHANGED: tk._("Changed"),
        Kind.MOVED: tk._("Moved"),
        Kind.DELETED: tk._("Deleted"),
        Kind.UNCHANGED: tk._("Unchanged"),
    }
    source = made.source
    lines = [
        f"{source.title} ({source.url})",
        tk._("Records now: {count}").format(count=made.current),
        *source.warnings,
    ]
    if not made.answered:
        lines.append(tk._("The source could not be read: a job would do nothing."))
    lines += [tk._("Could not be read: {error}").format(error=error) for error in made.errors]
    for kind, label in kinds.items():
        lines += _entries(label, made.changes[kind], listed=kind is not Kind.UNCHANGED)
    lines += _entries(tk._("Not readable"), made.failed)
    lines += _entries(tk._("Kept, though not read"), made.kept)
    if made.brake:
        held = len(made.brake.held)
        words = tk._("The brake would hold {count} deletions: {reason}")
        lines.append(words.format(count=held, reason=made.brake.reason))
        lines += [f"  {one.known.url}  {one.reason}" for one in made.brake.held]
    return lines


def _entries(label: str, entries: list[Entry], *, listed: bool = True) -> list[str]:
    lines = [f"{label}: {len(entries)}"]
    if listed:
        lines += [f"  {one.url}  {one.reason}" for one in entries]
    return lines


class Counter:
    """Counts on a terminal while something goes on; elsewhere says so every 30 seconds."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._live = sys.stderr.isatty()
        self._pause = 0.1 if self._live else 30.0
        self._told = monotonic()
        self._open = False

    def show(self, count: int) -> None:
        """Tell a number, if it is time."""
        if monotonic() - self._told >= self._pause:
            self._told = monotonic()
            self._open = self._live
            click.echo(
                f"\r{count} {self._what}" if self._live else f"{count} {self._what}",
                nl=not self._live,
                err=True,
            )

    def end(self) -> None:
        """End the line."""
        if self._open:
            click.echo(err=True)


def _source(name: str) -> Any:
    try:
        return harvest_source(name)
    except tk.ObjectNotFound as error:
        words = tk._("There is no harvest source {name}").format(name=name)
        raise click.ClickException(words) from error


def _site_user() -> str:
    return tk.get_action("get_site_user")({"ignore_auth": True}, {})["name"]
