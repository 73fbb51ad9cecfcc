"""Templates of plugins, which CKAN searches in the order of ckan.plugins."""

from __future__ import annotations

import sys
from pathlib import Path

import ckan.plugins as p
import ckan.plugins.toolkit as tk

OWN = Path(__file__).resolve().parent.parent / "templates"


def hidden_templates() -> dict[str, list[str]]:
    """Return our templates that never apply, by the plugin whose template is found first.

    A template with ``ckan_extends`` hides nothing: CKAN goes on to the next of its name.
    """
    found: dict[str, list[str]] = {}
    names = sorted(str(path.relative_to(OWN)) for path in OWN.rglob("*.html"))
    for folder in (Path(path).resolve() for path in tk.config["plugin_template_paths"]):
        if folder == OWN:
            break
        hidden = [name for name in names if _replaces(folder / name)]
        if hidden:
            found.setdefault(_plugin_of(folder), []).extend(hidden)
            names = [name for name in names if name not in hidden]
    return found


def _replaces(template: Path) -> bool:
    return template.is_file() and "ckan_extends" not in template.read_text(
        encoding="utf-8", errors="replace"
    )


def _plugin_of(folder: Path) -> str:
    """Return the first enabled plugin whose package has a folder of templates; else the folder."""
    for name in tk.aslist(tk.config["ckan.plugins"]):
        if p.plugin_loaded(name):
            package = sys.modules[".".join(type(p.get_plugin(name)).__module__.split(".")[:2])]
            if any(Path(path).resolve() in folder.parents for path in package.__path__):
                return str(name)
    return str(folder)
