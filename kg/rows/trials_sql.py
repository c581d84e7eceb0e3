"""The statements that fill and read the trial store; its tables are those of ``data/trials/tables.sql``."""

FIND_PROBLEM = "SELECT key FROM problems WHERE id = ?"
FIND_SETTINGS = "SELECT key FROM settings WHERE digest = ?"
FIND_WORD = "SELECT key FROM words WHERE text = ?"

INSERT_PROBLEM = """
    INSERT INTO problems (batch, id, task_id, hardware, count, operator, model, metric, better)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING
"""
INSERT_SETTINGS = "INSERT INTO settings (digest, content) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING"
INSERT_WORD = "INSERT INTO words (text) VALUES (?) ON CONFLICT (text) DO NOTHING"
INSERT = """
    INSERT INTO trials (
        problem, batch, configuration, metric, source, outcome, rank, cost,
        status, value, unit, stdev, repeats, reason, reported_unit, software, kind, strategy, bottleneck,
        baseline, baseline_configuration
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (problem, configuration, metric, source, outcome) DO NOTHING
"""

# The same configuration with the same cost is one row, whoever repeats it; the strongest kind speaks for it.
TABLE = """
    SELECT configuration, cost, status, kind,
           min(CASE kind WHEN 'measured' THEN 0 WHEN 'published' THEN 1 WHEN 'claimed' THEN 3 ELSE 2 END)
    FROM trials WHERE problem = ? AND rank IS NOT NULL AND batch <= ?
    GROUP BY rank, cost, configuration ORDER BY rank, cost, configuration LIMIT ?
"""

TIMED = """
    SELECT configuration, cost FROM trials
    WHERE problem = ?1 AND rank = 0 AND batch <= ?2 AND cost > 0 AND cost < 9e999
    GROUP BY cost, configuration ORDER BY cost, configuration
"""
FAILED = """
    SELECT digest FROM settings WHERE key IN (
        SELECT configuration FROM trials WHERE problem = ?1 AND rank = 3 AND batch <= ?2
        EXCEPT SELECT configuration FROM trials WHERE problem = ?1 AND rank = 0 AND batch <= ?2
    )
"""
EVERY_NTH = f"""
    SELECT configuration, cost FROM (
        SELECT configuration, cost, row_number() OVER (ORDER BY cost, configuration) AS place FROM ({TIMED})
    ) WHERE (place - 1) % ?3 = 0 ORDER BY place
"""  # noqa: S608 - a constant

PROBLEMS = """
    SELECT key, id, task_id, hardware, count, operator, model, metric, better, (
        SELECT origin FROM copied_devices AS copied WHERE copied.operator = problems.operator
        AND copied.metric = problems.metric AND copied.device = problems.hardware
    ) FROM problems WHERE key IN (SELECT value FROM json_each(?1)) AND batch <= ?2
    AND (?3 IS NULL OR metric = ?3)
    AND (?4 IS NULL OR operator IN (SELECT value FROM json_each(?4)))
"""

SET_TRUST = "INSERT OR REPLACE INTO trust (source, batch, level) VALUES (?, ?, ?)"
TRUST_OF = """
    SELECT level FROM trust WHERE source = (SELECT key FROM words WHERE text = ?) AND batch <= ?
    ORDER BY batch DESC LIMIT 1
"""
TRUSTS = """
    SELECT DISTINCT problem, (
        SELECT level FROM trust WHERE trust.source = trials.source AND trust.batch <= ?2
        ORDER BY batch DESC LIMIT 1
    ) FROM trials WHERE problem IN (SELECT value FROM json_each(?1)) AND batch <= ?2
"""

SAME_GAIN = """
    SELECT 1 FROM trials WHERE problem = ? AND configuration = ? AND metric = ? AND value = ?
    AND strategy = ? AND bottleneck = ? AND kind = ? AND baseline = ? LIMIT 1
"""

WHOLE = """
    SELECT configuration.content, metric.text, source.text, software.content, before.content,
           status, value, unit, stdev, repeats, reason, reported_unit, kind, strategy, bottleneck, baseline, (
               SELECT level FROM trust WHERE trust.source = trials.source AND trust.batch <= ?2
               ORDER BY trust.batch DESC LIMIT 1
           )
    FROM trials
    CROSS JOIN settings AS configuration ON configuration.key = trials.configuration
    CROSS JOIN settings AS software ON software.key = trials.software
    CROSS JOIN words AS metric ON metric.key = trials.metric
    CROSS JOIN words AS source ON source.key = trials.source
    LEFT JOIN settings AS before ON before.key = trials.baseline_configuration
    WHERE problem = ?1 AND batch <= ?2
"""
OWN_METRIC = WHOLE + "AND rank IS NOT NULL ORDER BY rank, cost, trials.configuration LIMIT ?3"
OTHER_METRICS = WHOLE + "AND rank IS NULL ORDER BY trials.metric, trials.configuration LIMIT ?3"
OF_BATCH = WHOLE + "AND trials.batch = ?3 ORDER BY trials.configuration"
