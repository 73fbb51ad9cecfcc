"""Namespace package shared by all CKAN extensions; the idiom of CKAN's own template."""

try:
    import pkg_resources

    pkg_resources.declare_namespace(__name__)
except ImportError:
    import pkgutil

    __path__ = pkgutil.extend_path(__path__, __name__)
