"""Functions of CKAN and ckanext-harvest outside ``ckan.plugins.toolkit``, and every difference between
versions.

Nothing else imports ``ckan.model`` or ``ckan.lib``. Only ``harvesters.py`` imports ``ckanext.harvest``.
Import from the modules: this package itself has no names.

====================  =======================================================================
``ckan_core``         Names of CKAN's core that are used unchanged, such as ``model``
``database``          CKAN's database: row locks of packages, migrations, connections
``declared_options``  Options that plugins declare, and removed ones in use
``extras``            Extras of packages and organizations
``forms``             Fields of dataset forms; requests without a token against forgery
``harvest``           Queues and harvesters of ckanext-harvest
``harvest_tables``    Tables of ckanext-harvest
``jobs``              Background jobs
``locks``             Named locks that end with the process that holds them
``lost_database``     Errors of a lost database connection
``mailer``            Sending of mails
``own_tables``        Behaviour while tables of this extension are missing or old
``permissions``       Who may see a dataset, and who may edit one
``site_names``        Names of this site's extras, Solr fields and facet
``solr``              CKAN's search index
``templates``         Templates of plugins, and which of ours others hide
``version``           The installed CKAN version
====================  =======================================================================
"""
