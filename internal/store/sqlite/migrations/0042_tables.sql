-- +goose Up

-- Times are integer milliseconds since 1970, 0 for none; uuids are 16 bytes. A CHECK
-- compares instead of using IN with more than two values: SQLite would build a table of them at
-- every write.

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
    retention     TEXT, -- periods in milliseconds as JSON
    approvals     TEXT, -- the policy about tool calls, as JSON
    UNIQUE (org_id, slug)
) STRICT;

CREATE INDEX idx_agent_definition_org ON agent_definition (org_id, number);

CREATE TABLE agent_execution (
    number                   INTEGER PRIMARY KEY,
    id                       BLOB NOT NULL UNIQUE,
    org_id                   TEXT NOT NULL,
    agent_definition_id      BLOB REFERENCES agent_definition (id) ON DELETE SET NULL,
    kind                     TEXT NOT NULL,
    persistence_mode         TEXT NOT NULL DEFAULT 'REMOTE' CHECK (persistence_mode IN ('REMOTE', 'LOCAL')),
    status                   TEXT NOT NULL DEFAULT 'PENDING' CHECK (status = 'PENDING' OR status = 'RUNNING' OR status = 'WAITING' OR status = 'CANCELLING' OR status = 'COMPLETED' OR status = 'FAILED' OR status = 'CANCELLED'),
    wait_reason              TEXT,
    wait                     TEXT,
    error                    TEXT,
    error_code               TEXT,
    queue                    TEXT NOT NULL DEFAULT 'default',
    workspace                TEXT,
    current_checkpoint_seq   INTEGER NOT NULL DEFAULT 0,
    worker_id                BLOB,
    traceparent              TEXT,
    metadata                 TEXT,
    created_at               INTEGER NOT NULL,
    updated_at               INTEGER NOT NULL,
    started_at               INTEGER,
    completed_at             INTEGER,
    version                  INTEGER NOT NULL DEFAULT 1,
    leaf_entry_id            BLOB,
    entry_count              INTEGER NOT NULL DEFAULT 0,
    response_id              TEXT,
    fence                    INTEGER NOT NULL DEFAULT 0,
    claim_id                 BLOB,
    lease_until              INTEGER NOT NULL DEFAULT 0,
    embedded                 INTEGER NOT NULL DEFAULT 0,
    last_commit_fence        INTEGER NOT NULL DEFAULT 0,
    last_commit_number       INTEGER NOT NULL DEFAULT 0,
    answer                   BLOB,
    ready_at                 INTEGER NOT NULL DEFAULT 0,
    not_before               INTEGER NOT NULL DEFAULT 0,
    woke                     TEXT,
    crashes                  INTEGER NOT NULL DEFAULT 0, -- a score: a lost lease adds 2, a claim that ends well takes 1
    panics                   INTEGER NOT NULL DEFAULT 0, -- a score like crashes
    cancel_by                INTEGER NOT NULL DEFAULT 0,
    next_signal              INTEGER NOT NULL DEFAULT 0,
    input_blob               BLOB,
    output_blob              BLOB,
    input                    BLOB,
    output                   BLOB,
    checkpoint_at            INTEGER NOT NULL DEFAULT 0, -- of the newest checkpoint
    asked                    TEXT, -- the waits since the newest checkpoint, as JSON
    log_pruned               INTEGER NOT NULL DEFAULT 0, -- 1: the log is pruned
    home_worker_id           BLOB, -- of a LOCAL execution: the only worker that may claim it
    unfit                    INTEGER NOT NULL DEFAULT 0, -- a score of releases by workers that cannot run it
    key_id                   BLOB, -- the key that started it
    stored                   INTEGER NOT NULL DEFAULT 0, -- its bytes once it has ended; before that, log_head.stored
    records_since_checkpoint INTEGER NOT NULL DEFAULT 0, -- steps recorded and tasks scheduled
    needs_features           INTEGER NOT NULL DEFAULT 0, -- what a worker must support: a bit for each feature
    open_questions           INTEGER NOT NULL DEFAULT 0,
    gate                     TEXT -- the policies about tool calls, as JSON. NULL: every call is allowed
) STRICT;

CREATE INDEX idx_agent_execution_org ON agent_execution (org_id, number);
CREATE INDEX idx_agent_execution_definition
    ON agent_execution (agent_definition_id)
    WHERE agent_definition_id IS NOT NULL;
CREATE INDEX idx_agent_execution_deferred
    ON agent_execution (not_before)
    WHERE status = 'PENDING' AND not_before > ready_at;
CREATE INDEX idx_agent_execution_cancel ON agent_execution (cancel_by)
    WHERE status = 'CANCELLING';
CREATE INDEX idx_agent_execution_ended
    ON agent_execution (org_id, completed_at)
    WHERE completed_at IS NOT NULL;
CREATE INDEX idx_agent_execution_ended_log
    ON agent_execution (org_id, completed_at)
    WHERE completed_at IS NOT NULL AND log_pruned = 0;
CREATE INDEX idx_agent_execution_key_open
    ON agent_execution (key_id, status, wait_reason)
    WHERE key_id IS NOT NULL AND completed_at IS NULL;
CREATE INDEX idx_agent_execution_key_ended
    ON agent_execution (key_id, stored)
    WHERE key_id IS NOT NULL AND completed_at IS NOT NULL;
CREATE INDEX idx_agent_execution_held
    ON agent_execution (worker_id, lease_until)
    WHERE status IN ('RUNNING', 'CANCELLING');
-- For counts.
CREATE INDEX idx_agent_execution_waiting ON agent_execution (wait_reason)
    WHERE status = 'WAITING';
-- Executions with a high score of crashes run alone in a worker. They have their own index, so that
-- other picks do not read them.
CREATE INDEX idx_agent_execution_dispatch
    ON agent_execution (org_id, queue, kind, persistence_mode, home_worker_id, ready_at, not_before)
    WHERE status = 'PENDING' AND crashes < 6;
CREATE INDEX idx_agent_execution_alone
    ON agent_execution (org_id, queue, kind, persistence_mode, home_worker_id, ready_at, not_before)
    WHERE status = 'PENDING' AND crashes >= 6;
CREATE INDEX idx_agent_execution_held_alone
    ON agent_execution (worker_id)
    WHERE status IN ('RUNNING', 'CANCELLING') AND crashes >= 6;
-- For lists by status. Executions that have not ended are not in it, so that their changes write no
-- index entry.
CREATE INDEX idx_agent_execution_by_status ON agent_execution (org_id, status)
    WHERE completed_at IS NOT NULL;

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
    segment            INTEGER, -- its place in the tree: see decision 038
    depth              INTEGER, -- on the path: the number of entries up to it; beside the path: minus that of the entry it is attached to
    keep_segment       INTEGER, -- of a compaction: the place of the first entry that it keeps
    keep_depth         INTEGER,
    barrier            TEXT, -- of a compaction: the entries that it pins and leaves out, as JSON
    UNIQUE (agent_execution_id, id),
    FOREIGN KEY (agent_execution_id, parent_id) REFERENCES agent_entry (agent_execution_id, id) ON DELETE CASCADE
) STRICT;

CREATE INDEX idx_agent_entry_execution ON agent_entry (agent_execution_id, number);
CREATE INDEX idx_agent_entry_parent ON agent_entry (agent_execution_id, parent_id)
    WHERE parent_id IS NOT NULL;
CREATE UNIQUE INDEX idx_agent_entry_key
    ON agent_entry (agent_execution_id, entry_key)
    WHERE entry_key IS NOT NULL;
-- Blobs that a row names: a blob is deleted when no row names it.
CREATE INDEX idx_agent_entry_blob
    ON agent_entry (agent_execution_id, content_blob)
    WHERE content_blob IS NOT NULL;
CREATE UNIQUE INDEX idx_agent_entry_place ON agent_entry (agent_execution_id, segment, depth)
    WHERE depth > 0;
CREATE INDEX idx_agent_entry_compaction ON agent_entry (agent_execution_id, segment, depth)
    WHERE entry_type = 'compaction';

CREATE TABLE agent_checkpoint (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    sequence           INTEGER NOT NULL,
    leaf_entry_id      BLOB,
    metadata           TEXT,
    created_at         INTEGER NOT NULL,
    state_blob         BLOB,
    state              BLOB,
    superseded         INTEGER NOT NULL DEFAULT 0, -- 1: no resume starts from it
    PRIMARY KEY (agent_execution_id, sequence),
    FOREIGN KEY (agent_execution_id, leaf_entry_id) REFERENCES agent_entry (agent_execution_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_agent_checkpoint_leaf
    ON agent_checkpoint (agent_execution_id, leaf_entry_id)
    WHERE leaf_entry_id IS NOT NULL;
CREATE INDEX idx_agent_checkpoint_superseded ON agent_checkpoint (created_at)
    WHERE superseded = 1;
CREATE INDEX idx_agent_checkpoint_blob
    ON agent_checkpoint (agent_execution_id, state_blob)
    WHERE state_blob IS NOT NULL;

CREATE TABLE agent_signal (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    id                 TEXT NOT NULL,
    signal_name        TEXT NOT NULL,
    state              TEXT NOT NULL CHECK (state = 'pending' OR state = 'taken' OR state = 'consumed'),
    signal_order       INTEGER NOT NULL,
    taken_at           INTEGER NOT NULL DEFAULT 0, -- the newest checkpoint at the taking
    taken_order        INTEGER NOT NULL DEFAULT 0,
    response_id        TEXT,
    created_at         INTEGER NOT NULL,
    value_blob         BLOB,
    signal_value       BLOB,
    sender_key_id      BLOB, -- NULL: the token of the data directory
    PRIMARY KEY (agent_execution_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_agent_signal_pending
    ON agent_signal (agent_execution_id, signal_name, signal_order)
    WHERE state = 'pending';
CREATE INDEX idx_agent_signal_order ON agent_signal (agent_execution_id, signal_order)
    WHERE state = 'pending';
CREATE INDEX idx_agent_signal_taken ON agent_signal (agent_execution_id, taken_order)
    WHERE state = 'taken';
CREATE INDEX idx_agent_signal_blob
    ON agent_signal (agent_execution_id, value_blob)
    WHERE value_blob IS NOT NULL;

-- A task has exactly one parent, its execution.
CREATE TABLE task_execution (
    number             INTEGER PRIMARY KEY,
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    id                 BLOB NOT NULL,
    org_id             TEXT NOT NULL,
    kind               TEXT NOT NULL,
    status             TEXT NOT NULL CHECK (status = 'PENDING' OR status = 'RUNNING' OR status = 'COMPLETED' OR status = 'FAILED' OR status = 'INTERRUPTED' OR status = 'CANCELLED'),
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
    uncounted          INTEGER NOT NULL DEFAULT 0, -- attempts that do not count as tries
    lost               INTEGER NOT NULL DEFAULT 0, -- uncounted attempts that were lost
    attempt_at         INTEGER NOT NULL DEFAULT 0,
    sign_at            INTEGER NOT NULL DEFAULT 0,
    attempt_due        INTEGER, -- follows from these and the options
    concurrency_key    TEXT,
    concurrency_limit  INTEGER NOT NULL DEFAULT 0,
    blocked            INTEGER NOT NULL DEFAULT 0, -- 1: it was found while its concurrency key was full, so picks skip it
    result_of          BLOB, -- the entry that contains the result
    needs_features     INTEGER NOT NULL DEFAULT 0,
    UNIQUE (agent_execution_id, id)
) STRICT;

CREATE INDEX idx_task_execution_agent ON task_execution (agent_execution_id, number);
CREATE INDEX idx_task_execution_open
    ON task_execution (agent_execution_id)
    WHERE status IN ('PENDING', 'RUNNING');
CREATE INDEX idx_task_execution_deferred
    ON task_execution (not_before)
    WHERE status = 'PENDING' AND not_before > created_at;
CREATE INDEX idx_task_execution_deadline
    ON task_execution (deadline_at)
    WHERE status IN ('PENDING', 'RUNNING') AND deadline_at IS NOT NULL;
CREATE INDEX idx_task_execution_dispatch
    ON task_execution (org_id, queue, kind, priority, created_at, not_before)
    WHERE status = 'PENDING' AND blocked = 0;
CREATE INDEX idx_task_execution_blocked
    ON task_execution (org_id, concurrency_key, priority, created_at)
    WHERE status = 'PENDING' AND blocked = 1;
CREATE INDEX idx_task_execution_key
    ON task_execution (org_id, concurrency_key, status)
    WHERE status IN ('PENDING', 'RUNNING') AND concurrency_key IS NOT NULL;
CREATE INDEX idx_task_execution_attempt
    ON task_execution (attempt_due)
    WHERE status = 'RUNNING' AND attempt_due IS NOT NULL;
CREATE INDEX idx_task_execution_input_blob
    ON task_execution (agent_execution_id, input_blob)
    WHERE input_blob IS NOT NULL;
CREATE INDEX idx_task_execution_result_blob
    ON task_execution (agent_execution_id, result_blob)
    WHERE result_blob IS NOT NULL;
CREATE INDEX idx_task_execution_held ON task_execution (org_id, queue, lease_until)
    WHERE status = 'RUNNING';

CREATE TABLE agent_timer (
    agent_execution_id BLOB PRIMARY KEY REFERENCES agent_execution (id) ON DELETE CASCADE,
    due_at             INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_agent_timer_due ON agent_timer (due_at);

-- The log. The head has its own row, because every append changes it.
CREATE TABLE log_head (
    agent_execution_id BLOB PRIMARY KEY REFERENCES agent_execution (id) ON DELETE CASCADE,
    last_seq           INTEGER NOT NULL,
    last_pos           INTEGER NOT NULL,
    epoch              INTEGER NOT NULL,
    first_pos          INTEGER NOT NULL DEFAULT 0, -- of the first record that is shown; 0: all are
    stored             INTEGER NOT NULL DEFAULT 0, -- the bytes that the execution holds while it runs
    nonce              INTEGER NOT NULL DEFAULT 0, -- of the record at nonce_pos
    nonce_pos          INTEGER NOT NULL DEFAULT 0,
    pruned_nonce       INTEGER NOT NULL DEFAULT 0 -- of the last record that was pruned
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
    fields_blob        BLOB,
    fields_of          BLOB, -- the entry that contains the result in fields
    nonce              INTEGER NOT NULL DEFAULT 0, -- random, per transaction: records of different histories differ; 0 if unknown
    PRIMARY KEY (agent_execution_id, pos)
) STRICT, WITHOUT ROWID;

-- Blocks. A closed block holds its content, and the places where its chunks were cut.
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
    cuts               BLOB, -- varints: pos, length and milliseconds, each from the one before
    content            BLOB,
    content_blob       BLOB,
    sha256             BLOB, -- of a closed block
    entry              INTEGER, -- the entry that contains the content (agent_entry.number), and the place in it
    path               TEXT,
    nonces             BLOB, -- four bytes for each of the cuts
    PRIMARY KEY (agent_execution_id, task_id, attempt, block)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_log_block_open ON log_block (agent_execution_id, seq)
    WHERE open = 1;
CREATE INDEX idx_log_block_closed ON log_block (agent_execution_id, span, first_pos)
    WHERE span IS NOT NULL;
CREATE UNIQUE INDEX idx_log_block_seq ON log_block (agent_execution_id, seq)
    WHERE event = 0 AND seq > 0;
-- Blocks that an entry may replace later.
CREATE INDEX idx_log_block_content ON log_block (agent_execution_id, sha256)
    WHERE content IS NOT NULL;

-- Chunks of open blocks.
CREATE TABLE log_chunk (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    seq                INTEGER NOT NULL, -- the block's
    pos                INTEGER NOT NULL,
    byte_offset        INTEGER NOT NULL,
    created_at         INTEGER NOT NULL,
    content            BLOB NOT NULL,
    length             INTEGER, -- of a text that is stored elsewhere; NULL: of content
    nonce              INTEGER NOT NULL DEFAULT 0,
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
    staged             INTEGER NOT NULL DEFAULT 0, -- bytes that are stored and not shown yet
    content_of         BLOB, -- the entry that contains the content
    PRIMARY KEY (agent_execution_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_blob_loose ON blob (created_at)
    WHERE owned = 0;
-- Blobs that no row names and that are being deleted.
CREATE INDEX idx_blob_dead ON blob (agent_execution_id)
    WHERE owned = 2;
CREATE INDEX idx_blob_withheld ON blob (agent_execution_id, id)
    WHERE owned = 1 AND held + staged < length;

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
    number              INTEGER PRIMARY KEY,
    id                  BLOB NOT NULL UNIQUE,
    org_id              TEXT NOT NULL,
    name                TEXT NOT NULL,
    role                TEXT NOT NULL CHECK (role IN ('admin', 'client', 'worker', 'approver')),
    hash                BLOB NOT NULL UNIQUE,
    created_at          INTEGER NOT NULL,
    revoked_at          INTEGER,
    requests_per_second INTEGER NOT NULL DEFAULT 0, -- limits of the key; 0: no limit
    max_running         INTEGER NOT NULL DEFAULT 0,
    max_stored          INTEGER NOT NULL DEFAULT 0
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
    endpoints    TEXT, -- JSON array of the model endpoints that workers allow, by their queues
    signals      TEXT, -- JSON arrays of the signals and output schemas that workers have
    outputs      TEXT, -- registered, each with the time of its newest registration, the newest first
    tags         TEXT, -- JSON array
    PRIMARY KEY (org_id, agent, kind)
) STRICT, WITHOUT ROWID;

-- The retention policy of an org. Periods are milliseconds; 0 means forever.
CREATE TABLE retention (
    org_id      TEXT PRIMARY KEY,
    executions  INTEGER NOT NULL,
    checkpoints INTEGER NOT NULL,
    logs        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The retention policy of the definition at the start of the execution. NULL means the org's.
-- Executions whose definition has no policy have no row.
CREATE TABLE agent_retention (
    agent_execution_id BLOB PRIMARY KEY REFERENCES agent_execution (id) ON DELETE CASCADE,
    executions         INTEGER,
    checkpoints        INTEGER,
    logs               INTEGER,
    ended_at           INTEGER, -- the execution's completed_at
    log_pruned         INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_agent_retention_executions
    ON agent_retention (ended_at + executions)
    WHERE ended_at IS NOT NULL AND executions > 0;
CREATE INDEX idx_agent_retention_logs
    ON agent_retention (ended_at + logs)
    WHERE ended_at IS NOT NULL AND logs > 0 AND log_pruned = 0;

-- Executions whose rows are being deleted, a few at a time. If whole is 1, readers no longer see the
-- execution.
CREATE TABLE pruning (
    agent_execution_id BLOB PRIMARY KEY REFERENCES agent_execution (id) ON DELETE CASCADE,
    whole              INTEGER NOT NULL -- 0: its log alone
) STRICT, WITHOUT ROWID;

-- General durable streams: content that clients append, of no execution. tail is the number of bytes.
CREATE TABLE durable_stream (
    number       INTEGER PRIMARY KEY,
    id           BLOB NOT NULL UNIQUE,
    org_id       TEXT NOT NULL,
    path         TEXT NOT NULL,
    content_type TEXT NOT NULL,
    tail         INTEGER NOT NULL,
    closed       INTEGER NOT NULL,
    seq          TEXT,
    closed_by    TEXT,
    closed_epoch INTEGER,
    closed_seq   INTEGER,
    created_at   INTEGER NOT NULL,
    deleted      INTEGER NOT NULL DEFAULT 0,
    key_id       BLOB -- the key that created it
) STRICT;

CREATE UNIQUE INDEX idx_durable_stream_path ON durable_stream (org_id, path)
    WHERE deleted = 0;
-- Streams whose rows are being deleted.
CREATE INDEX idx_durable_stream_dead ON durable_stream (number)
    WHERE deleted = 1;
CREATE INDEX idx_durable_stream_key ON durable_stream (key_id, tail)
    WHERE key_id IS NOT NULL AND deleted = 0;

-- The content, at least one row for each append. upto is the position after it.
CREATE TABLE durable_stream_chunk (
    stream_id BLOB NOT NULL REFERENCES durable_stream (id) ON DELETE CASCADE,
    upto      INTEGER NOT NULL,
    content   BLOB NOT NULL,
    PRIMARY KEY (stream_id, upto)
) STRICT, WITHOUT ROWID;

-- The progress of each producer, which identifies repeated appends.
CREATE TABLE durable_stream_producer (
    stream_id BLOB NOT NULL REFERENCES durable_stream (id) ON DELETE CASCADE,
    producer  TEXT NOT NULL,
    epoch     INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    PRIMARY KEY (stream_id, producer)
) STRICT, WITHOUT ROWID;

-- The texts of entries, for blocks that close later: the first 8 bytes of each SHA-256, and the first
-- entry with that text.
CREATE TABLE agent_entry_text (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    hash               INTEGER NOT NULL,
    entry              INTEGER NOT NULL,
    PRIMARY KEY (agent_execution_id, hash)
) STRICT, WITHOUT ROWID;

-- Responses, by the input that began each. If a response that was already running took the input,
-- joined names that response.
CREATE TABLE agent_response (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    id                 TEXT NOT NULL,
    signal_id          TEXT, -- NULL: the execution's own input
    first_pos          INTEGER NOT NULL,
    joined             TEXT,
    hidden             INTEGER NOT NULL DEFAULT 0,
    created_at         INTEGER NOT NULL,
    request            TEXT,
    said               BLOB, -- SHA-256 of the conversation up to the end of the response, as a client knows it
    said_and_run       BLOB, -- the same with the calls of tools that ran at the server
    PRIMARY KEY (agent_execution_id, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX idx_agent_response_id ON agent_response (id);
-- The responses of an execution in their order.
CREATE INDEX idx_agent_response_pos ON agent_response (agent_execution_id, first_pos);
CREATE INDEX idx_agent_response_said ON agent_response (said, created_at)
    WHERE said IS NOT NULL;

-- Who changed what. Rows are inserted, never changed.
CREATE TABLE audit_log (
    number        INTEGER PRIMARY KEY,
    org_id        TEXT NOT NULL,
    at            INTEGER NOT NULL,
    actor_key_id  BLOB,
    actor_name    TEXT NOT NULL,
    request_id    TEXT,
    remote        TEXT,
    action        TEXT NOT NULL,
    subject_id    BLOB,
    subject_name  TEXT,
    before_sha256 TEXT,
    after_sha256  TEXT
) STRICT;

CREATE INDEX idx_audit_log_org ON audit_log (org_id, number);

-- +goose StatementBegin
CREATE TRIGGER audit_log_stays BEFORE UPDATE ON audit_log
BEGIN
    SELECT raise(ABORT, 'the audit log is not changed');
END;
-- +goose StatementEnd

CREATE TABLE org (
    id          TEXT PRIMARY KEY,
    created_at  INTEGER NOT NULL,
    disabled_at INTEGER
) STRICT, WITHOUT ROWID;

-- Sessions of browsers. Both halves of a session's secret, and the key that created it, are stored as
-- SHA-256.
CREATE TABLE web_session (
    id          BLOB PRIMARY KEY,
    org_id      TEXT NOT NULL,
    key_id      BLOB, -- null for the token of a data directory
    key_name    TEXT NOT NULL,
    key_hash    BLOB NOT NULL,
    cookie_hash BLOB NOT NULL,
    page_hash   BLOB NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    remote      TEXT NOT NULL,
    user_agent  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX idx_web_session_cookie ON web_session (cookie_hash);
CREATE INDEX idx_web_session_key ON web_session (key_hash, created_at);
CREATE INDEX idx_web_session_org ON web_session (org_id, id);
CREATE INDEX idx_web_session_expiry ON web_session (expires_at);

-- Random secrets of the installation, from which keys are derived.
CREATE TABLE store_secret (
    name       TEXT PRIMARY KEY,
    value      BLOB NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Conversations of the Responses endpoint. response_id is the id of the next response. items and
-- bytes count the pending items in conversation_item. mark names the last addition.
CREATE TABLE conversation (
    id          TEXT PRIMARY KEY,
    org_id      TEXT NOT NULL,
    key_id      BLOB,
    response_id TEXT NOT NULL,
    items       INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    metadata    TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    executions  INTEGER NOT NULL,
    mark        TEXT
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX idx_conversation_response ON conversation (response_id);
CREATE INDEX idx_conversation_key ON conversation (key_id, bytes)
    WHERE key_id IS NOT NULL;

-- Items that a client has added since the last response.
CREATE TABLE conversation_item (
    conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    number          INTEGER NOT NULL,
    item            TEXT NOT NULL,
    PRIMARY KEY (conversation_id, number)
) STRICT;

-- The executions of a conversation, oldest first.
CREATE TABLE conversation_execution (
    conversation_id    TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    number             INTEGER NOT NULL,
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    PRIMARY KEY (conversation_id, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_conversation_execution ON conversation_execution (agent_execution_id);

-- Members of an execution's metadata by which it can be found, with values as text. Longer keys and
-- values have no row. org_id and number are those of the execution.
CREATE TABLE agent_metadata (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    key                TEXT NOT NULL,
    value              TEXT NOT NULL,
    org_id             TEXT NOT NULL,
    number             INTEGER NOT NULL,
    PRIMARY KEY (agent_execution_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_agent_metadata_value ON agent_metadata (org_id, key, value, number);

-- The index of texts, by blocks of 256 execution numbers: which executions contain a sequence of three
-- bytes in their id, kind or the beginning of their input. A row holds some sequences of a block.
CREATE TABLE agent_text (
    part  INTEGER NOT NULL,
    block INTEGER NOT NULL,
    grams BLOB NOT NULL,
    PRIMARY KEY (part, block)
) STRICT, WITHOUT ROWID;

-- The number of blocks that are indexed, from the first on.
CREATE TABLE text_index (
    id     INTEGER PRIMARY KEY,
    blocks INTEGER NOT NULL
) STRICT;

-- The entry after which a segment of the tree begins. A segment without a row, or with a base of
-- depth 0, begins with a root.
CREATE TABLE agent_segment (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    segment            INTEGER NOT NULL,
    base_segment       INTEGER NOT NULL,
    base_depth         INTEGER NOT NULL,
    PRIMARY KEY (agent_execution_id, segment)
) STRICT, WITHOUT ROWID;

-- A decision that a run asks of people. A question outlives workers and servers.
CREATE TABLE question (
    number             INTEGER PRIMARY KEY,
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    id                 BLOB NOT NULL,
    org_id             TEXT NOT NULL,
    question_key       TEXT NOT NULL,
    kind               TEXT NOT NULL,
    subject            TEXT,
    terms              TEXT NOT NULL, -- the parts that never change, as JSON
    entry_id           BLOB, -- with call_id: the tool call whose arguments are the details
    call_id            TEXT,
    details_sha256     BLOB NOT NULL,
    place              TEXT NOT NULL, -- in the conversation, as JSON
    expires_at         INTEGER,
    status             TEXT NOT NULL CHECK (status = 'open' OR status = 'answered' OR status = 'expired' OR status = 'withdrawn'),
    answer             TEXT,
    votes              TEXT,
    task_id            BLOB, -- the task that an approval permitted
    version            INTEGER NOT NULL,
    created_at         INTEGER NOT NULL,
    decided_at         INTEGER,
    details            BLOB,
    UNIQUE (agent_execution_id, id)
) STRICT;

CREATE INDEX idx_question_org ON question (org_id, number);
CREATE INDEX idx_question_open ON question (org_id, number) WHERE status = 'open';
CREATE INDEX idx_question_due ON question (expires_at) WHERE status = 'open' AND expires_at IS NOT NULL;
CREATE INDEX idx_question_id ON question (id);
-- The open questions of an execution, and all of them in order, whatever the number of others.
CREATE INDEX idx_question_waiting ON question (agent_execution_id) WHERE status = 'open';
CREATE INDEX idx_question_execution ON question (agent_execution_id, number);

-- HTTP endpoints to which an org's events are sent. events is a JSON array of types and patterns.
-- The secrets are sealed. A webhook with deleted_at is deleted with its last delivery.
CREATE TABLE webhook (
    id               BLOB PRIMARY KEY,
    org_id           TEXT NOT NULL,
    url              TEXT NOT NULL,
    events           TEXT NOT NULL,
    description      TEXT NOT NULL,
    enabled          INTEGER NOT NULL,
    disabled_reason  TEXT NOT NULL,
    secret           TEXT NOT NULL,
    old_secret       TEXT NOT NULL,
    old_secret_until INTEGER,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    version          INTEGER NOT NULL,
    deleted_at       INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_webhook_org ON webhook (org_id, id) WHERE deleted_at IS NULL;
CREATE INDEX idx_webhook_deleted ON webhook (id) WHERE deleted_at IS NOT NULL;

-- A random number that each change of a webhook replaces, in the same transaction. Without a row it
-- 1 it is 0, and there has been no webhook.
CREATE TABLE webhook_revision (
    id       INTEGER PRIMARY KEY,
    revision INTEGER NOT NULL
) STRICT;

-- An event on its way to a webhook. id is the event's. due_at is the end of the lease while a server
-- sends it. Rows do not refer to their webhook by a foreign key, so that an event never waits for a
-- webhook that is being changed.
CREATE TABLE delivery (
    webhook_id      BLOB NOT NULL,
    id              BLOB NOT NULL,
    org_id          TEXT NOT NULL,
    event_type      TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'dead')),
    attempts        INTEGER NOT NULL,
    due_at          INTEGER,
    lease_until     INTEGER NOT NULL,
    fence           INTEGER NOT NULL,
    response_status INTEGER NOT NULL,
    response_body   TEXT NOT NULL,
    error           TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    attempted_at    INTEGER,
    ended_at        INTEGER,
    remove_at       INTEGER NOT NULL,
    payload         BLOB NOT NULL,
    PRIMARY KEY (webhook_id, id)
) STRICT;

CREATE INDEX idx_delivery_due ON delivery (webhook_id, due_at) WHERE status = 'pending';
CREATE INDEX idx_delivery_status ON delivery (webhook_id, status, id);
CREATE INDEX idx_delivery_remove ON delivery (remove_at);

-- An approval that also answers later questions about such calls, of its run or of its definition.
CREATE TABLE approval_grant (
    number              INTEGER PRIMARY KEY,
    id                  BLOB NOT NULL UNIQUE,
    org_id              TEXT NOT NULL,
    scope               TEXT NOT NULL CHECK (scope = 'run' OR scope = 'definition'),
    match_kind          TEXT NOT NULL CHECK (match_kind = 'exact' OR match_kind = 'tool'),
    agent_execution_id  BLOB REFERENCES agent_execution (id) ON DELETE CASCADE,
    agent_definition_id BLOB REFERENCES agent_definition (id) ON DELETE CASCADE,
    subject             TEXT NOT NULL, -- the tool
    details_sha256      BLOB, -- of the call, or NULL for the match tool
    question_id         BLOB NOT NULL,
    voters              TEXT NOT NULL, -- names, as a JSON array
    needed              INTEGER NOT NULL,
    voted_by            TEXT NOT NULL, -- the terms of the question about its voters, as a JSON array
    created_at          INTEGER NOT NULL,
    expires_at          INTEGER NOT NULL
) STRICT;

CREATE INDEX idx_approval_grant_org ON approval_grant (org_id, number);
CREATE INDEX idx_approval_grant_run ON approval_grant (agent_execution_id, number) WHERE agent_execution_id IS NOT NULL;
CREATE INDEX idx_approval_grant_definition ON approval_grant (agent_definition_id, number) WHERE agent_definition_id IS NOT NULL;

-- Workers as the servers know them. queues, agents and tasks are JSON arrays of names.
CREATE TABLE worker (
    org_id        TEXT NOT NULL,
    id            BLOB NOT NULL,
    version       TEXT NOT NULL,
    queues        TEXT NOT NULL,
    agents        TEXT NOT NULL,
    tasks         TEXT NOT NULL,
    agent_slots   INTEGER NOT NULL,
    task_slots    INTEGER NOT NULL,
    embedded      INTEGER NOT NULL,
    registered_at INTEGER NOT NULL,
    seen_at       INTEGER NOT NULL,
    PRIMARY KEY (org_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_worker_seen ON worker (org_id, seen_at);

-- Queues whose work servers do not give out.
CREATE TABLE queue_pause (
    org_id    TEXT NOT NULL,
    queue     TEXT NOT NULL,
    paused_at INTEGER NOT NULL,
    PRIMARY KEY (org_id, queue)
) STRICT, WITHOUT ROWID;

-- The org of a single tenant.
INSERT INTO org (id, created_at) VALUES ('default', CAST(unixepoch('subsec') * 1000 AS INTEGER));
