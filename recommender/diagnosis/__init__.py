"""The causes of the time that a run loses, from its profile: evidence, odds and costs."""
