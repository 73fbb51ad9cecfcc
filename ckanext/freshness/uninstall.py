"""The command ``ckan freshness-uninstall``, which works where the plugin is not enabled any more.

CKAN imports this module for each of its commands, on each site on which this package is installed. So it
imports the rest of the package only when it is called.
"""

from __future__ import annotations

from importlib.metadata import entry_points

import ckan.plugins.toolkit as tk
import click


@click.command("freshness-uninstall")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--drop-tables", is_flag=True, help="Also drop the tables with the whole history.")
def command(yes: bool, drop_tables: bool) -> None:
    """Remove what ckanext-freshness wrote into datasets, and its tables.

    Remove the plugins from ckan.plugins and restart CKAN's processes first. The command removes the extras of
    datasets and the fields of links that checks filled in, and nothing else. It can be repeated. Until the
    tables are dropped, nothing is lost: enable the plugins again and call ckan freshness refresh --all.

    If another version has made the tables, so that this one is off, --drop-tables drops them while the plugins
    are enabled, and leaves the rest.
    """
    # Those of other extensions whose tables are dropped, too.
    ours = {point.name for point in entry_points(group="freshness.tables")} | {
        point.name
        for point in entry_points(group="ckan.plugins")
        if point.value.startswith("ckanext.freshness.")
    }
    if enabled := [name for name in tk.aslist(tk.config["ckan.plugins"]) if name in ours]:
        if drop_tables and (others := _plugins_with_other_tables()):
            _drop(yes, others)
            click.echo("Now make the tables anew: ckan -c ... db upgrade, then restart CKAN")
            return
        ini = tk.config.get("__file__") or "the ini file"
        raise click.ClickException(
            f"Nothing was changed, because the plugins are enabled. Remove {' '.join(enabled)} from "
            f"ckan.plugins in {ini}, restart CKAN's web server, workers and consumers, and call this "
            "command again."
        )
    _take_out(yes)
    if drop_tables:
        _drop(yes)
        click.echo(
            "Nothing of ckanext-freshness is left in the database and in Solr. Delete the copies at "
            "ckanext.freshness.copies.location, if it was set, remove the options ckanext.freshness.* from the "
            "ini file, and uninstall the package: pip uninstall ckanext-freshness"
        )
    else:
        click.echo("To drop the tables, too: ckan freshness-uninstall --drop-tables")


def _take_out(yes: bool) -> None:
    from .ckan_adapter.core import SearchIndexError
    from .ckan_adapter.services import in_words
    from .cli import progress_of
    from .doctor.findings import counted
    from .status import our_fields

    found = our_fields.find_written()
    datasets = counted(len(found), "dataset", "datasets")
    if found and not yes:
        click.confirm(f"Remove the extras and the values of checks from {datasets}?", abort=True)
    try:
        with progress_of("datasets") as progress:
            for done in our_fields.take_out(found):
                progress(done, len(found))
    except SearchIndexError as error:
        raise click.ClickException(
            f"Solr does not answer ({in_words(error)}), so datasets still have what ckanext-freshness wrote. "
            "Start Solr, then call this command again: it does the rest."
        ) from error
    click.echo(f"Removed the extras and the values of checks from {datasets}")
    if rest := our_fields.find_written():
        raise click.ClickException(
            f"{counted(len(rest), 'dataset was', 'datasets were')} written again meanwhile. Restart all of "
            "CKAN's processes without the plugins, then call this command again."
        )


def _drop(yes: bool, plugins: list[str] | None = None) -> None:
    from .ckan_adapter.tables import drop_tables, existing_tables

    names = existing_tables(plugins)
    if names and not yes:
        words = f"Drop {len(names)} tables with all evidence, history and copies' records?"
        click.confirm(words, abort=True)
    drop_tables(names)
    click.echo(f"Dropped {len(names)} tables")


def _plugins_with_other_tables() -> list[str]:
    """Return the enabled plugins whose tables another version made, so that no migration can change them."""
    from .ckan_adapter.tables import unusable_tables

    return [tables.plugin for tables in unusable_tables() if not tables.can_be_upgraded]
