package load

// This file deletes data whose retention period is over: the data is first marked, then deleted a
// few rows at a time.

// Hidden is a condition on an execution x: it is not being deleted.
const Hidden = "NOT EXISTS (SELECT 1 FROM pruning gone WHERE gone.agent_execution_id = x.id AND gone.whole = 1)"
