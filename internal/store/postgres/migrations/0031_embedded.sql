-- +goose Up

LOCK TABLE agent_execution, task_execution IN ACCESS EXCLUSIVE MODE; -- as in 0030

-- What runs in a server's own process is looked for once, when that starts, among what
-- runs at all, which stands in other indexes. These were written with each claim.
DROP INDEX idx_agent_execution_embedded;
DROP INDEX idx_task_execution_embedded;

-- +goose Down
CREATE INDEX idx_task_execution_embedded ON task_execution (agent_execution_id)
    WHERE embedded = 1 AND status = 'RUNNING';
CREATE INDEX idx_agent_execution_embedded ON agent_execution (id)
    WHERE embedded = 1 AND status IN ('RUNNING', 'CANCELLING');
