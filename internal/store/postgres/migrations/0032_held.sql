-- +goose Up

LOCK TABLE agent_execution, task_execution IN ACCESS EXCLUSIVE MODE; -- as in 0030

-- What is held changes with every step of an execution and every task, so it stands
-- in one index of each table. Who counts what a worker or a queue has reads a range of
-- it; who looks for leases that are over goes through all of it, some times a second on
-- each server, since no more is held than is at work.
DROP INDEX idx_agent_execution_lease;
DROP INDEX idx_agent_execution_worker;
CREATE INDEX idx_agent_execution_held ON agent_execution (worker_id, lease_until)
    WHERE status IN ('RUNNING', 'CANCELLING');
CREATE INDEX idx_agent_execution_held_alone ON agent_execution (worker_id)
    WHERE status IN ('RUNNING', 'CANCELLING') AND crashes >= 3;

DROP INDEX idx_task_execution_lease;
DROP INDEX idx_task_execution_running;
CREATE INDEX idx_task_execution_held ON task_execution (org_id, queue, lease_until)
    WHERE status = 'RUNNING';

-- +goose Down
DROP INDEX idx_task_execution_held;
CREATE INDEX idx_task_execution_running ON task_execution (org_id, queue)
    WHERE status = 'RUNNING';
CREATE INDEX idx_task_execution_lease ON task_execution (lease_until)
    WHERE status = 'RUNNING';

DROP INDEX idx_agent_execution_held_alone;
DROP INDEX idx_agent_execution_held;
CREATE INDEX idx_agent_execution_worker ON agent_execution (worker_id, crashes)
    WHERE status IN ('RUNNING', 'CANCELLING');
CREATE INDEX idx_agent_execution_lease ON agent_execution (lease_until)
    WHERE status IN ('RUNNING', 'CANCELLING');
