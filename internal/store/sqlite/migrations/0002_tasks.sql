-- +goose Up

ALTER TABLE agent_execution ADD COLUMN checkpoint_at INTEGER NOT NULL DEFAULT 0; -- of the newest checkpoint

ALTER TABLE task_execution ADD COLUMN uncounted INTEGER NOT NULL DEFAULT 0; -- attempts that do not count as tries
ALTER TABLE task_execution ADD COLUMN lost INTEGER NOT NULL DEFAULT 0;      -- those of them that were lost
ALTER TABLE task_execution ADD COLUMN attempt_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task_execution ADD COLUMN sign_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task_execution ADD COLUMN attempt_due INTEGER; -- follows from these and the options
ALTER TABLE task_execution ADD COLUMN concurrency_key TEXT;
ALTER TABLE task_execution ADD COLUMN concurrency_limit INTEGER NOT NULL DEFAULT 0;
-- Set on a pending task that was found while its key was full, so that picking
-- does not come by it again and again; cleared when one of the key makes room.
ALTER TABLE task_execution ADD COLUMN blocked INTEGER NOT NULL DEFAULT 0;

-- Executions that have to be alone in their worker (store.AloneCrashes) have an
-- index of their own, so that nobody else's pick goes through them.
DROP INDEX idx_agent_execution_dispatch;
CREATE INDEX idx_agent_execution_dispatch ON agent_execution (org_id, queue, kind, ready_at, not_before)
    WHERE status = 'PENDING' AND crashes < 3;
CREATE INDEX idx_agent_execution_alone ON agent_execution (org_id, queue, kind, ready_at, not_before)
    WHERE status = 'PENDING' AND crashes >= 3;
CREATE INDEX idx_agent_execution_worker ON agent_execution (worker_id, crashes)
    WHERE status IN ('RUNNING', 'CANCELLING');

DROP INDEX idx_task_execution_dispatch;
CREATE INDEX idx_task_execution_dispatch ON task_execution (org_id, queue, kind, priority, created_at, not_before)
    WHERE status = 'PENDING' AND blocked = 0;
CREATE INDEX idx_task_execution_blocked ON task_execution (org_id, concurrency_key, priority, created_at)
    WHERE status = 'PENDING' AND blocked = 1;
CREATE INDEX idx_task_execution_running ON task_execution (org_id, queue)
    WHERE status = 'RUNNING';
CREATE INDEX idx_task_execution_key ON task_execution (org_id, concurrency_key, status)
    WHERE status IN ('PENDING', 'RUNNING') AND concurrency_key IS NOT NULL;
CREATE INDEX idx_task_execution_attempt ON task_execution (attempt_due)
    WHERE status = 'RUNNING' AND attempt_due IS NOT NULL;

-- +goose Down
DROP INDEX idx_task_execution_attempt;
DROP INDEX idx_task_execution_key;
DROP INDEX idx_task_execution_running;
DROP INDEX idx_task_execution_blocked;
DROP INDEX idx_task_execution_dispatch;
CREATE INDEX idx_task_execution_dispatch ON task_execution (org_id, queue, kind, priority, created_at, not_before)
    WHERE status = 'PENDING';
DROP INDEX idx_agent_execution_worker;
DROP INDEX idx_agent_execution_alone;
DROP INDEX idx_agent_execution_dispatch;
CREATE INDEX idx_agent_execution_dispatch ON agent_execution (org_id, queue, kind, ready_at, not_before)
    WHERE status = 'PENDING';
ALTER TABLE task_execution DROP COLUMN blocked;
ALTER TABLE task_execution DROP COLUMN concurrency_limit;
ALTER TABLE task_execution DROP COLUMN concurrency_key;
ALTER TABLE task_execution DROP COLUMN attempt_due;
ALTER TABLE task_execution DROP COLUMN sign_at;
ALTER TABLE task_execution DROP COLUMN attempt_at;
ALTER TABLE task_execution DROP COLUMN lost;
ALTER TABLE task_execution DROP COLUMN uncounted;
ALTER TABLE agent_execution DROP COLUMN checkpoint_at;
