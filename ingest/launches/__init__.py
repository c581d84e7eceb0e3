"""What people have when they ask: a launch command, a model's ``config.json``, the output of a device tool.

Nothing is executed. Each reader returns a :class:`ingest.launches.told.Told`: keys of a question
(``ingest.problems.KEYS``) and what of the text could not be read.
"""
