"""Settings written into the launches that people have, each edit proven by reading the result again."""
