"""The report page: ``subject`` and the sections' data, ``html`` to put them on one page."""
