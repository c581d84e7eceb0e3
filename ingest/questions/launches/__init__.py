"""Readers of texts that users have: a launch command, a model's ``config.json``, the output of a device tool.

Nothing is executed. Each reader returns the :class:`~ingest.questions.launches.launch_facts.LaunchFacts` of
its text: keys of a question (``ingest.questions.problems.KEYS``), and notes on what could not be read.
"""
