"""From the facts of a run to the causes of its lost time, with evidence, odds and what a fix would bring."""
