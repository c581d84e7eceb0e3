-- The rows of a workspace.
CREATE TABLE problems (
    key INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice: vectors refer to it
    batch INTEGER NOT NULL,
    id TEXT NOT NULL UNIQUE,
    task_id TEXT NOT NULL,
    hardware TEXT NOT NULL,
    count INTEGER,
    operator TEXT NOT NULL,
    model TEXT,
    metric TEXT NOT NULL,
    better TEXT NOT NULL
) STRICT;
CREATE INDEX problems_of_task ON problems (task_id);
CREATE INDEX problems_of_operator ON problems (operator, metric, better, batch, id);
CREATE TABLE settings (key INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, content TEXT NOT NULL) STRICT;
CREATE TABLE words (key INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE trials (
    problem INTEGER NOT NULL REFERENCES problems,
    configuration INTEGER NOT NULL REFERENCES settings,
    metric INTEGER NOT NULL REFERENCES words,
    source INTEGER NOT NULL REFERENCES words,
    outcome INTEGER NOT NULL,  -- checksum of what came out: a source may measure twice
    batch INTEGER NOT NULL,
    rank INTEGER,  -- 0 timed, 1 winner without a time, 2 unknown, 3 failed; NULL: not the problem's metric
    cost REAL,     -- lower is better; infinite for a failure, NULL if not known
    status TEXT NOT NULL,
    value REAL,
    unit TEXT,
    stdev REAL,
    repeats INTEGER,
    reason TEXT NOT NULL,
    reported_unit TEXT NOT NULL,
    software INTEGER NOT NULL REFERENCES settings,
    kind TEXT NOT NULL,
    strategy TEXT NOT NULL,
    bottleneck TEXT NOT NULL,
    baseline REAL,
    baseline_configuration INTEGER REFERENCES settings,
    PRIMARY KEY (problem, configuration, metric, source, outcome)
) STRICT, WITHOUT ROWID;
CREATE INDEX best_first ON trials (problem, rank, cost, configuration, status, kind, batch)
    WHERE rank IS NOT NULL;
CREATE TABLE trust (  -- of sources; medium where nothing is said
    source INTEGER NOT NULL REFERENCES words,
    batch INTEGER NOT NULL,
    level TEXT NOT NULL,
    PRIMARY KEY (source, batch)
) STRICT, WITHOUT ROWID;
CREATE TABLE copied_devices (  -- see kg.rows.copies
    operator TEXT NOT NULL,
    metric TEXT NOT NULL,
    device TEXT NOT NULL,
    origin TEXT NOT NULL,
    rows INTEGER NOT NULL,
    shared INTEGER NOT NULL,
    PRIMARY KEY (operator, metric, device)
) STRICT, WITHOUT ROWID;
