-- +goose Up

-- Executions that wait, for those who count them: a small part of the table, of
-- which the rest has ended.
CREATE INDEX idx_agent_execution_waiting ON agent_execution (wait_reason)
    WHERE status = 'WAITING';

-- +goose Down
DROP INDEX idx_agent_execution_waiting;
