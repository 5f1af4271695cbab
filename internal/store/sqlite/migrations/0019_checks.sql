-- +goose Up

-- A list of more than two in a CHECK is put into a table of its own by every statement
-- that writes a row; comparisons are not. ALTER TABLE cannot change a CHECK, so the text
-- of the tables is, as SQLite's documentation of ALTER TABLE describes it; that the
-- index is made anew lets every connection read it again.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (status IN (''PENDING'', ''RUNNING'', ''WAITING'', ''CANCELLING'', ''COMPLETED'', ''FAILED'', ''CANCELLED''))',
    'CHECK (status = ''PENDING'' OR status = ''RUNNING'' OR status = ''WAITING'' OR status = ''CANCELLING'' OR status = ''COMPLETED'' OR status = ''FAILED'' OR status = ''CANCELLED'')')
WHERE type = 'table' AND name = 'agent_execution';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (status IN (''PENDING'', ''RUNNING'', ''COMPLETED'', ''FAILED'', ''INTERRUPTED'', ''CANCELLED''))',
    'CHECK (status = ''PENDING'' OR status = ''RUNNING'' OR status = ''COMPLETED'' OR status = ''FAILED'' OR status = ''INTERRUPTED'' OR status = ''CANCELLED'')')
WHERE type = 'table' AND name = 'task_execution';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (state IN (''pending'', ''taken'', ''consumed''))',
    'CHECK (state = ''pending'' OR state = ''taken'' OR state = ''consumed'')')
WHERE type = 'table' AND name = 'agent_signal';
PRAGMA writable_schema = RESET;
DROP INDEX idx_agent_execution_waiting;
CREATE INDEX idx_agent_execution_waiting ON agent_execution (wait_reason)
    WHERE status = 'WAITING';

-- +goose Down

PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (status = ''PENDING'' OR status = ''RUNNING'' OR status = ''WAITING'' OR status = ''CANCELLING'' OR status = ''COMPLETED'' OR status = ''FAILED'' OR status = ''CANCELLED'')',
    'CHECK (status IN (''PENDING'', ''RUNNING'', ''WAITING'', ''CANCELLING'', ''COMPLETED'', ''FAILED'', ''CANCELLED''))')
WHERE type = 'table' AND name = 'agent_execution';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (status = ''PENDING'' OR status = ''RUNNING'' OR status = ''COMPLETED'' OR status = ''FAILED'' OR status = ''INTERRUPTED'' OR status = ''CANCELLED'')',
    'CHECK (status IN (''PENDING'', ''RUNNING'', ''COMPLETED'', ''FAILED'', ''INTERRUPTED'', ''CANCELLED''))')
WHERE type = 'table' AND name = 'task_execution';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (state = ''pending'' OR state = ''taken'' OR state = ''consumed'')',
    'CHECK (state IN (''pending'', ''taken'', ''consumed''))')
WHERE type = 'table' AND name = 'agent_signal';
PRAGMA writable_schema = RESET;
DROP INDEX idx_agent_execution_waiting;
CREATE INDEX idx_agent_execution_waiting ON agent_execution (wait_reason)
    WHERE status = 'WAITING';
