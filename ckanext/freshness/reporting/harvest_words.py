"""The texts of ckanext-harvest's pages, so that our catalogues translate them.

ckanext-harvest marks its texts for translation, but has Swedish ones only. CKAN looks for a text in the
catalogues of all plugins. A test compares this list with the templates that are installed.
"""

from ..aging.messages import N_, NN_

HARVEST_WORDS = (
    N_("A harvest job has already been scheduled for this source"),
    N_("Add Harvest Source"),
    N_("Always"),
    N_("Biweekly"),
    N_(
        "Cannot create new harvest jobs on inactive sources. First, please change the source status to "
        '"active".'
    ),
    N_("Create Harvest Source"),
    N_("Create harvest source"),
    N_("Daily"),
    N_("Edit harvest source"),
    N_("Harvest"),
    N_("Harvest Sources"),
    N_("Harvest job not found"),
    N_("Harvest job stopped"),
    N_("Harvest source not found"),
    N_("Harvest sources"),
    N_("Harvest will start shortly. Refresh this page for updates."),
    N_("Harvesting source successfully cleared"),
    N_("Harvesting source successfully inactivated"),
    N_("Jobs"),
    N_("Manual"),
    N_("Monthly"),
    N_("No jobs yet for this source"),
    N_("Search harvest sources..."),
    N_("Sorry no harvest sources found"),
    N_('Sorry no harvest sources found for "{query}"'),
    N_("There are no datasets associated to this harvest source."),
    N_("There is no description for this harvest source"),
    N_("Weekly"),
    *NN_("{number} harvest source found", "{number} harvest sources found"),
    *NN_(
        '{number} harvest source found for "{query}"',
        '{number} harvest sources found for "{query}"',
    ),
)
