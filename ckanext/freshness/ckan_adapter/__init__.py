"""Functions of CKAN and ckanext-harvest outside ``ckan.plugins.toolkit``, and every difference between
versions.

Nothing else imports ``ckan.model`` or ``ckan.lib``. Only ``harvesters.py`` imports ``ckanext.harvest``.
Import from the modules: this package itself has no names.

============  ===============================================================================
``core``      Names of CKAN's core, its version, options, forms, permissions, templates, jobs
``database``  CKAN's database: migrations, missing tables, lost connections, locks
``harvest``   Tables, queues and harvesters of ckanext-harvest
``mailer``    Sending of mails
``packages``  Packages in the database and in Solr
============  ===============================================================================
"""
