-- +goose Up

-- Times are integer milliseconds since 1970, 0 for none; uuids are 16 bytes.

CREATE TABLE store (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    epoch      INTEGER NOT NULL, -- random; restore and copy renew it
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE agent_definition (
    number        INTEGER PRIMARY KEY,
    id            BLOB NOT NULL UNIQUE,
    org_id        TEXT NOT NULL,
    name          TEXT NOT NULL,
    slug          TEXT NOT NULL,
    description   TEXT,
    system_prompt TEXT NOT NULL,
    models        TEXT NOT NULL,
    tools         TEXT NOT NULL DEFAULT '[]',
    config        TEXT NOT NULL DEFAULT '{}',
    metadata      TEXT,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    version       INTEGER NOT NULL DEFAULT 1,
    UNIQUE (org_id, slug)
) STRICT;

CREATE INDEX idx_agent_definition_org ON agent_definition (org_id, number);

CREATE TABLE agent_execution (
    number                 INTEGER PRIMARY KEY,
    id                     BLOB NOT NULL UNIQUE,
    org_id                 TEXT NOT NULL,
    agent_definition_id    BLOB REFERENCES agent_definition (id) ON DELETE SET NULL,
    kind                   TEXT NOT NULL,
    persistence_mode       TEXT NOT NULL DEFAULT 'REMOTE' CHECK (persistence_mode IN ('REMOTE', 'LOCAL')),
    status                 TEXT NOT NULL DEFAULT 'PENDING'
        CHECK (status IN ('PENDING', 'RUNNING', 'WAITING', 'CANCELLING', 'COMPLETED', 'FAILED', 'CANCELLED')),
    wait_reason            TEXT,
    wait                   TEXT,
    error                  TEXT,
    error_code             TEXT,
    queue                  TEXT NOT NULL DEFAULT 'default',
    workspace              TEXT,
    current_checkpoint_seq INTEGER NOT NULL DEFAULT 0,
    worker_id              BLOB,
    traceparent            TEXT,
    metadata               TEXT,
    created_at             INTEGER NOT NULL,
    updated_at             INTEGER NOT NULL,
    started_at             INTEGER,
    completed_at           INTEGER,
    version                INTEGER NOT NULL DEFAULT 1,
    leaf_entry_id          BLOB,
    entry_count            INTEGER NOT NULL DEFAULT 0,
    response_id            TEXT,
    fence                  INTEGER NOT NULL DEFAULT 0,
    claim_id               BLOB,
    lease_until            INTEGER NOT NULL DEFAULT 0,
    embedded               INTEGER NOT NULL DEFAULT 0,
    last_commit_fence      INTEGER NOT NULL DEFAULT 0,
    last_commit_number     INTEGER NOT NULL DEFAULT 0,
    answer                 BLOB,
    ready_at               INTEGER NOT NULL DEFAULT 0,
    not_before             INTEGER NOT NULL DEFAULT 0,
    woke                   TEXT,
    crashes                INTEGER NOT NULL DEFAULT 0,
    panics                 INTEGER NOT NULL DEFAULT 0,
    cancel_by              INTEGER NOT NULL DEFAULT 0,
    next_signal            INTEGER NOT NULL DEFAULT 0,
    -- Contents stand last, so that reading what is before them skips them.
    input_blob             BLOB,
    output_blob            BLOB,
    input                  BLOB,
    output                 BLOB
) STRICT;

CREATE INDEX idx_agent_execution_org ON agent_execution (org_id, number);
CREATE INDEX idx_agent_execution_definition ON agent_execution (agent_definition_id)
    WHERE agent_definition_id IS NOT NULL;
CREATE INDEX idx_agent_execution_dispatch ON agent_execution (org_id, queue, kind, ready_at, not_before)
    WHERE status = 'PENDING';
CREATE INDEX idx_agent_execution_deferred ON agent_execution (not_before)
    WHERE status = 'PENDING' AND not_before > ready_at;
CREATE INDEX idx_agent_execution_lease ON agent_execution (lease_until)
    WHERE status IN ('RUNNING', 'CANCELLING');
CREATE INDEX idx_agent_execution_cancel ON agent_execution (cancel_by)
    WHERE status = 'CANCELLING';
CREATE INDEX idx_agent_execution_embedded ON agent_execution (id)
    WHERE embedded = 1 AND status IN ('RUNNING', 'CANCELLING');

CREATE TABLE agent_entry (
    number             INTEGER PRIMARY KEY, -- the order of insertion
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    id                 BLOB NOT NULL,
    parent_id          BLOB CHECK (parent_id <> id),
    entry_type         TEXT NOT NULL,
    role               TEXT,
    turn_id            TEXT,
    response_id        TEXT,
    message_id         TEXT,
    metadata           TEXT,
    created_at         INTEGER NOT NULL,
    entry_key          TEXT,
    calls              TEXT,
    answers            TEXT,
    open_calls         TEXT,
    content_sha256     BLOB NOT NULL,
    content_blob       BLOB,
    content            BLOB,
    UNIQUE (agent_execution_id, id),
    FOREIGN KEY (agent_execution_id, parent_id) REFERENCES agent_entry (agent_execution_id, id)
        ON DELETE CASCADE
) STRICT;

CREATE INDEX idx_agent_entry_execution ON agent_entry (agent_execution_id, number);
CREATE INDEX idx_agent_entry_parent ON agent_entry (agent_execution_id, parent_id)
    WHERE parent_id IS NOT NULL;
CREATE UNIQUE INDEX idx_agent_entry_key ON agent_entry (agent_execution_id, entry_key)
    WHERE entry_key IS NOT NULL;

CREATE TABLE agent_checkpoint (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    sequence           INTEGER NOT NULL,
    leaf_entry_id      BLOB,
    metadata           TEXT,
    created_at         INTEGER NOT NULL,
    state_blob         BLOB,
    state              BLOB,
    PRIMARY KEY (agent_execution_id, sequence),
    FOREIGN KEY (agent_execution_id, leaf_entry_id) REFERENCES agent_entry (agent_execution_id, id)
        ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_agent_checkpoint_leaf ON agent_checkpoint (agent_execution_id, leaf_entry_id)
    WHERE leaf_entry_id IS NOT NULL;

CREATE TABLE agent_signal (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    id                 TEXT NOT NULL,
    signal_name        TEXT NOT NULL,
    state              TEXT NOT NULL CHECK (state IN ('pending', 'taken', 'consumed')),
    signal_order       INTEGER NOT NULL,
    taken_at           INTEGER NOT NULL DEFAULT 0, -- the newest checkpoint at the taking
    taken_order        INTEGER NOT NULL DEFAULT 0,
    response_id        TEXT,
    created_at         INTEGER NOT NULL,
    value_blob         BLOB,
    signal_value       BLOB,
    PRIMARY KEY (agent_execution_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_agent_signal_pending ON agent_signal (agent_execution_id, signal_name, signal_order)
    WHERE state = 'pending';
CREATE INDEX idx_agent_signal_order ON agent_signal (agent_execution_id, signal_order)
    WHERE state = 'pending';
CREATE INDEX idx_agent_signal_taken ON agent_signal (agent_execution_id, taken_order)
    WHERE state = 'taken';

-- A task has exactly one parent, its execution.
CREATE TABLE task_execution (
    number             INTEGER PRIMARY KEY,
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    id                 BLOB NOT NULL,
    org_id             TEXT NOT NULL,
    kind               TEXT NOT NULL,
    status             TEXT NOT NULL
        CHECK (status IN ('PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'INTERRUPTED', 'CANCELLED')),
    queue              TEXT NOT NULL,
    task_key           TEXT NOT NULL,
    input_hash         BLOB NOT NULL,
    options            TEXT NOT NULL,
    priority           INTEGER NOT NULL,
    attempt            INTEGER NOT NULL DEFAULT 0,
    max_attempts       INTEGER NOT NULL DEFAULT 0,
    error              TEXT,
    progress           BLOB,
    worker_id          BLOB,
    claim_id           BLOB,
    lease_until        INTEGER NOT NULL DEFAULT 0,
    embedded           INTEGER NOT NULL DEFAULT 0,
    not_before         INTEGER NOT NULL DEFAULT 0,
    deadline_at        INTEGER, -- created_at + schedule-to-close
    step               INTEGER NOT NULL DEFAULT 0,
    response_id        TEXT,
    turn_id            TEXT,
    message_id         TEXT,
    tool_call_id       TEXT,
    created_at         INTEGER NOT NULL,
    started_at         INTEGER,
    completed_at       INTEGER,
    input_blob         BLOB,
    result_blob        BLOB,
    input              BLOB,
    result             BLOB,
    UNIQUE (agent_execution_id, id)
) STRICT;

CREATE INDEX idx_task_execution_agent ON task_execution (agent_execution_id, number);
CREATE INDEX idx_task_execution_open ON task_execution (agent_execution_id, status)
    WHERE status IN ('PENDING', 'RUNNING');
CREATE INDEX idx_task_execution_dispatch ON task_execution (org_id, queue, kind, priority, created_at, not_before)
    WHERE status = 'PENDING';
CREATE INDEX idx_task_execution_deferred ON task_execution (not_before)
    WHERE status = 'PENDING' AND not_before > created_at;
CREATE INDEX idx_task_execution_lease ON task_execution (lease_until)
    WHERE status = 'RUNNING';
CREATE INDEX idx_task_execution_deadline ON task_execution (deadline_at)
    WHERE status IN ('PENDING', 'RUNNING') AND deadline_at IS NOT NULL;
CREATE INDEX idx_task_execution_embedded ON task_execution (agent_execution_id)
    WHERE embedded = 1 AND status = 'RUNNING';

CREATE TABLE agent_timer (
    agent_execution_id BLOB PRIMARY KEY REFERENCES agent_execution (id) ON DELETE CASCADE,
    due_at             INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_agent_timer_due ON agent_timer (due_at);

-- The log. A row of its own for the head, which every append changes.
CREATE TABLE log_head (
    agent_execution_id BLOB PRIMARY KEY REFERENCES agent_execution (id) ON DELETE CASCADE,
    last_seq           INTEGER NOT NULL,
    last_pos           INTEGER NOT NULL,
    epoch              INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Events.
CREATE TABLE log_record (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    pos                INTEGER NOT NULL,
    seq                INTEGER NOT NULL,
    type               TEXT NOT NULL,
    created_at         INTEGER NOT NULL,
    response_id        TEXT,
    turn_id            TEXT,
    message_id         TEXT,
    tool_call_id       TEXT,
    task_id            BLOB,
    attempt            INTEGER NOT NULL DEFAULT 0,
    fields             TEXT,
    PRIMARY KEY (agent_execution_id, pos)
) STRICT, WITHOUT ROWID;

-- Blocks. A closed one holds its content, and where its chunks were cut.
CREATE TABLE log_block (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    task_id            BLOB NOT NULL, -- zeros for the execution's own
    attempt            INTEGER NOT NULL,
    block              INTEGER NOT NULL,
    seq                INTEGER NOT NULL,
    type               TEXT,
    stream             TEXT,
    response_id        TEXT,
    turn_id            TEXT,
    message_id         TEXT,
    tool_call_id       TEXT,
    argument_call_id   TEXT, -- of the call whose arguments are the content
    created_at         INTEGER NOT NULL,
    open               INTEGER NOT NULL,
    event              INTEGER NOT NULL DEFAULT 0,
    length             INTEGER NOT NULL,
    first_pos          INTEGER NOT NULL,
    last_pos           INTEGER NOT NULL,
    digest             BLOB,
    reason             TEXT,
    span               INTEGER, -- hexadecimal digits of last_pos - first_pos, once closed
    cuts               BLOB,    -- varints: pos, length and milliseconds, each from the one before
    content            BLOB,
    PRIMARY KEY (agent_execution_id, task_id, attempt, block)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_log_block_open ON log_block (agent_execution_id, seq)
    WHERE open = 1;
CREATE INDEX idx_log_block_closed ON log_block (agent_execution_id, span, first_pos)
    WHERE span IS NOT NULL;

-- Chunks of open blocks.
CREATE TABLE log_chunk (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    seq                INTEGER NOT NULL, -- the block's
    pos                INTEGER NOT NULL,
    byte_offset        INTEGER NOT NULL,
    created_at         INTEGER NOT NULL,
    content            BLOB NOT NULL,
    PRIMARY KEY (agent_execution_id, seq, pos)
) STRICT, WITHOUT ROWID;

CREATE TABLE blob (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    id                 BLOB NOT NULL,
    length             INTEGER NOT NULL,
    held               INTEGER NOT NULL,
    digest             BLOB,
    sha256             BLOB,
    owned              INTEGER NOT NULL DEFAULT 0,
    created_at         INTEGER NOT NULL,
    PRIMARY KEY (agent_execution_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_blob_loose ON blob (created_at) WHERE owned = 0;

-- Pieces of 64 KiB, the last one shorter.
CREATE TABLE blob_chunk (
    agent_execution_id BLOB NOT NULL,
    id                 BLOB NOT NULL,
    n                  INTEGER NOT NULL,
    content            BLOB NOT NULL,
    PRIMARY KEY (agent_execution_id, id, n),
    FOREIGN KEY (agent_execution_id, id) REFERENCES blob (agent_execution_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
    org_id             TEXT NOT NULL,
    idempotency_key    TEXT NOT NULL,
    request_hash       BLOB NOT NULL,
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    expires_at         INTEGER NOT NULL,
    PRIMARY KEY (org_id, idempotency_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_idempotency_expiry ON idempotency (expires_at);
CREATE INDEX idx_idempotency_execution ON idempotency (agent_execution_id);

CREATE TABLE api_key (
    number     INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    org_id     TEXT NOT NULL,
    name       TEXT NOT NULL,
    role       TEXT NOT NULL CHECK (role IN ('admin', 'client', 'worker')),
    hash       BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;

CREATE INDEX idx_api_key_org ON api_key (org_id, number);

-- Kinds that workers have registered.
CREATE TABLE kind (
    org_id       TEXT NOT NULL,
    agent        INTEGER NOT NULL, -- 1: an agent's, 0: a task's
    kind         TEXT NOT NULL,
    description  TEXT,
    input_schema TEXT,
    providers    TEXT, -- JSON array of the model providers that an agent's kind can call
    seen_at      INTEGER NOT NULL,
    PRIMARY KEY (org_id, agent, kind)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE kind;
DROP TABLE api_key;
DROP TABLE idempotency;
DROP TABLE blob_chunk;
DROP TABLE blob;
DROP TABLE log_chunk;
DROP TABLE log_block;
DROP TABLE log_record;
DROP TABLE log_head;
DROP TABLE agent_timer;
DROP TABLE task_execution;
DROP TABLE agent_signal;
DROP TABLE agent_checkpoint;
DROP TABLE agent_entry;
DROP TABLE agent_execution;
DROP TABLE agent_definition;
DROP TABLE store;
