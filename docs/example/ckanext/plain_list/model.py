"""The table: what the last check of each link found. It is made by a migration of the plugin."""

import ckan.plugins.toolkit as tk
import sqlalchemy as sa


class PlainLink(tk.BaseModel):
    """A link that was checked."""

    __tablename__ = "plain_list_link"

    resource_id = sa.Column(sa.UnicodeText, primary_key=True)
    checked_at = sa.Column(sa.DateTime, nullable=False)
    is_there = sa.Column(sa.Boolean, nullable=False)


TABLES = (PlainLink.__table__,)
