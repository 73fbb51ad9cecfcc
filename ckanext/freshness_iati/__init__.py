"""Everything that only IATI needs.

Registries as sources of harvests (:mod:`.source_type`), checks of their files by rules of their own
(:mod:`.rules`), the files for everybody (:mod:`.publication`), and the cycle of all this (:mod:`.cycle`).

Not here: what serves other catalogues, too. The engine of checks, copies and harvests are used as they are.
"""
