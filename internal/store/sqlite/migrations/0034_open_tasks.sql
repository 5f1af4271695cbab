-- +goose Up

-- With the status as its second column the index was never chosen: it does not have the order of
-- the numbers, so the open tasks of an execution were found among all of its tasks.
DROP INDEX idx_task_execution_open;
CREATE INDEX idx_task_execution_open ON task_execution (agent_execution_id)
    WHERE status IN ('PENDING', 'RUNNING');

-- +goose Down
DROP INDEX idx_task_execution_open;
CREATE INDEX idx_task_execution_open ON task_execution (agent_execution_id, status)
    WHERE status IN ('PENDING', 'RUNNING');
