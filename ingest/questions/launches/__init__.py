"""What people have when they ask: a launch command, a model's ``config.json``, the output of a device tool.

Nothing is executed. Each reader returns a :class:`ingest.questions.launches.launch_facts.Told`: keys of a question
(``ingest.questions.problems.KEYS``) and what of the text could not be read.
"""
