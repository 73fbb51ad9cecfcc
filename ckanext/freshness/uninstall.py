"""The command ``ckan freshness-uninstall``, which works whether or not the plugin is enabled.

CKAN imports this module for each of its commands, on each site on which this package is installed. So it
imports the rest of the package only when it is called.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator

import ckan.plugins.toolkit as tk
import click

OUR_PLUGINS = ("freshness", "fdp_harvester", "iati_harvester")
_ASKED = 5
"""Requests to the site: each may reach another of its processes."""
_ROUNDS = 3
"""Removals, since edits under way may write back what they have read."""
_PATIENCE = 10
"""Seconds to wait for an answer of the site."""


@click.command("freshness-uninstall")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--drop-tables", is_flag=True, help="Also drop the tables, which ends the way back.")
@click.option("--undo", is_flag=True, help="Undo everything, as long as the tables exist.")
@click.option(
    "--skip-server-check",
    is_flag=True,
    help="Do not ask the site at ckan.site_url whether it still runs the plugins.",
)
def command(yes: bool, drop_tables: bool, undo: bool, skip_server_check: bool) -> None:
    """Remove what ckanext-freshness wrote into datasets, and its tables.

    Remove the plugins from ckan.plugins and restart CKAN's processes first. Then call this command, and a
    second time with --drop-tables. It removes the extras of datasets and the fields of links that checks
    filled in, and nothing else.
    """
    if undo and drop_tables:
        raise click.UsageError("Give either --undo or --drop-tables.")
    if undo:
        _undo()
        return
    steps = list(_order(ask_server=not skip_server_check))
    for number, (words, is_done) in enumerate(steps, start=1):
        click.echo(f"{number}. {words}: {'OK' if is_done else 'NOT DONE'}")
    is_free = all(is_done for _, is_done in steps)
    if drop_tables and not is_free:
        raise click.ClickException(
            "The tables were not dropped, and nothing else was changed. Do the steps above that are not done, "
            "then call ckan freshness-uninstall --drop-tables again."
        )
    _take_out(yes)
    if drop_tables:
        _drop(yes)
    elif is_free:
        click.echo("4. Drop the tables, after which there is no way back. Next:")
        click.echo("     ckan freshness-uninstall --drop-tables")
    else:
        click.echo("4. Drop the tables, once the steps above are done:")
        click.echo("     ckan freshness-uninstall --drop-tables")
    if not drop_tables:
        click.echo("To undo this as long as the tables exist: ckan freshness-uninstall --undo")


def _order(*, ask_server: bool) -> Iterator[tuple[str, bool]]:
    """Yield the steps that come first, each with whether it is done."""
    enabled = [name for name in OUR_PLUGINS if name in tk.aslist(tk.config.get("ckan.plugins"))]
    ini = tk.config.get("__file__") or "the ini file"
    names = " ".join(enabled or OUR_PLUGINS)
    yield f"Remove the plugins from ckan.plugins in {ini} ({names})", not enabled
    words = "Restart CKAN's web server, its workers and consumers, and remove the lines of cron"
    if not ask_server:
        yield f"{words} (not checked)", True
        return
    try:
        answer = _running_at()
    except (OSError, ValueError) as error:
        yield f"{words} (not checked, because the site cannot be asked: {error})", True
    else:
        yield (f"{words} ({answer})" if answer else words), answer is None


def _running_at() -> str | None:
    """Return in words that the site still answers with the plugins; None if it does not.

    :raises OSError: the site cannot be reached from this machine
    :raises ValueError: ``ckan.site_url`` is no URL
    """
    root = str(tk.config.get("ckan.root_path") or "").replace("/{{LANG}}", "").rstrip("/")
    url = f"{str(tk.config['ckan.site_url']).rstrip('/')}{root}/freshness"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for _ in range(_ASKED):
        try:
            with opener.open(url, timeout=_PATIENCE) as response:
                status = response.status
        except urllib.error.HTTPError as error:
            status = error.code
        if status != 404:
            return f"{url} still answers, with {status}, not with 404"
    return None


def _take_out(yes: bool) -> None:
    from .cli.progress import ProgressCounter
    from .dates import utc_now
    from .doctor import counted
    from .status import removal

    found = removal.find()
    if found and not yes:
        datasets = counted(len(found), "dataset", "datasets")
        click.confirm(f"3. Remove the extras and the values of checks from {datasets}?", abort=True)
    counter = ProgressCounter("datasets")
    removed: set[str] = set()
    rest = found
    for _ in range(_ROUNDS):
        for done in removal.take_out(rest, utc_now()):
            counter.show(len(removed) + done)
        removed |= {written.package_id for written in rest}
        removal.wait_for_earlier_edits()
        rest = removal.find()
        if not rest:
            break
    counter.end()
    words = counted(len(removed), "dataset", "datasets")
    click.echo(f"3. Removed the extras and the values of checks from {words}")
    if rest:
        raise click.ClickException(
            f"{counted(len(rest), 'dataset was', 'datasets were')} written again meanwhile. Restart all of "
            "CKAN's processes without the plugins, then call this command again."
        )


def _drop(yes: bool) -> None:
    from .status import removal

    names = removal.tables()
    if names and not yes:
        words = f"4. Drop {len(names)} tables with all evidence, history and copies' records?"
        click.confirm(words, abort=True)
    try:
        removal.drop_tables()
    except removal.TablesInUseError as error:
        raise click.ClickException(
            "The tables were not dropped. Stop the nightly run, the worker or the dump that uses them, then "
            f"call this command again. {error}"
        ) from error
    click.echo(f"4. Dropped {len(names)} tables")
    click.echo(
        "Nothing of ckanext-freshness is left in the database and in Solr. Delete the copies at "
        "ckanext.freshness.copies.location, if it was set, remove the options ckanext.freshness.* from the "
        "ini file, and uninstall the package: pip uninstall ckanext-freshness"
    )


def _undo() -> None:
    from .doctor import counted
    from .status import removal

    if not removal.has_table("freshness_uninstall"):
        raise click.ClickException(
            "The tables were dropped, so there is nothing to restore from. To begin anew, follow the README."
        )
    restored = removal.undo()
    click.echo(f"Restored the values of checks in {counted(restored, 'resource', 'resources')}")
    if "freshness" not in tk.aslist(tk.config.get("ckan.plugins")):
        click.echo("Next: add the plugins to ckan.plugins again and restart CKAN's processes.")
    click.echo("Then this writes the extras again: ckan freshness refresh --all")
