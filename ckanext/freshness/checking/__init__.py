"""Checks of URLs: which are checked, what is requested, what an answer means, and what is stored of it.

:mod:`.selection` and :mod:`.learned` choose, :mod:`.engine` checks, :mod:`.decisions` judges an answer, and
:mod:`.content` compares files.

Not here: the freshness of a dataset, which follows from results (``status/``), the run as a whole
(``runs/``), words for people (``reporting/``), requests themselves (``web/``), and rules of one kind of
catalogue, which are other plugins' (:mod:`.checkers`).
"""
