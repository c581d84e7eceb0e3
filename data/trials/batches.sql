-- What batches said, and the vectors; older workspaces have none of these.
CREATE TABLE batches (  -- a batch is there whole or not at all
    number INTEGER PRIMARY KEY,
    digest TEXT NOT NULL,  -- of its rows and statements: what a check compares
    seal TEXT NOT NULL     -- of it and all before it; the graph that is made from them names it too
) STRICT;
CREATE TABLE statements (  -- changes of the graph in their order, as N-Triples under zlib
    number INTEGER PRIMARY KEY,
    batch INTEGER NOT NULL,  -- that it belongs to; knowledge comes without one and bears the newest
    removed BLOB NOT NULL,
    added BLOB NOT NULL
) STRICT;
CREATE INDEX statements_of_batch ON statements (batch, number);
CREATE TABLE encoders (number INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, dimension INTEGER NOT NULL) STRICT;
CREATE TABLE vectors (  -- of problems, in the order of their batches; see embeddings.vector_table
    row INTEGER PRIMARY KEY,
    problem INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    vector BLOB NOT NULL
) STRICT;
