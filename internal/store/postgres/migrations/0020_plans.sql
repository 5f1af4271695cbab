-- +goose Up

LOCK TABLE agent_entry, task_execution IN ACCESS EXCLUSIVE MODE; -- before anything of one waits for the other

-- These begin with the same column as their tables' primary keys. While little is
-- known of a table, or most executions have few rows, one looks as good as the
-- other, and a row would be looked for by its id among all of its execution's.
-- Only statements that say "number > 0" may use them now.
DROP INDEX idx_agent_entry_execution;
CREATE INDEX idx_agent_entry_execution ON agent_entry (agent_execution_id, number)
    WHERE number > 0;
DROP INDEX idx_task_execution_agent;
CREATE INDEX idx_task_execution_agent ON task_execution (agent_execution_id, number)
    WHERE number > 0;

-- +goose Down
DROP INDEX idx_task_execution_agent;
CREATE INDEX idx_task_execution_agent ON task_execution (agent_execution_id, number);
DROP INDEX idx_agent_entry_execution;
CREATE INDEX idx_agent_entry_execution ON agent_entry (agent_execution_id, number);
