-- +goose Up

-- Lost leases, panics and unfit workers were counted since the checkpoint. They are
-- scores now, which no checkpoint touches: each of them adds 2, and each claim that
-- ends well takes 1. An execution that has lost three workers has a score of 6.
UPDATE agent_execution SET crashes = 2 * crashes, panics = 2 * panics, unfit = 2 * unfit
    WHERE crashes > 0 OR panics > 0 OR unfit > 0;
DROP INDEX idx_agent_execution_dispatch;
CREATE INDEX idx_agent_execution_dispatch
    ON agent_execution (org_id, queue, kind, persistence_mode, home_worker_id, ready_at, not_before)
    WHERE status = 'PENDING' AND crashes < 6;
DROP INDEX idx_agent_execution_alone;
CREATE INDEX idx_agent_execution_alone
    ON agent_execution (org_id, queue, kind, persistence_mode, home_worker_id, ready_at, not_before)
    WHERE status = 'PENDING' AND crashes >= 6;
DROP INDEX idx_agent_execution_held_alone;
CREATE INDEX idx_agent_execution_held_alone ON agent_execution (worker_id)
    WHERE status IN ('RUNNING', 'CANCELLING') AND crashes >= 6;

-- +goose Down
UPDATE agent_execution SET crashes = crashes / 2, panics = panics / 2, unfit = unfit / 2
    WHERE crashes > 0 OR panics > 0 OR unfit > 0;
DROP INDEX idx_agent_execution_dispatch;
CREATE INDEX idx_agent_execution_dispatch
    ON agent_execution (org_id, queue, kind, persistence_mode, home_worker_id, ready_at, not_before)
    WHERE status = 'PENDING' AND crashes < 3;
DROP INDEX idx_agent_execution_alone;
CREATE INDEX idx_agent_execution_alone
    ON agent_execution (org_id, queue, kind, persistence_mode, home_worker_id, ready_at, not_before)
    WHERE status = 'PENDING' AND crashes >= 3;
DROP INDEX idx_agent_execution_held_alone;
CREATE INDEX idx_agent_execution_held_alone ON agent_execution (worker_id)
    WHERE status IN ('RUNNING', 'CANCELLING') AND crashes >= 3;
