// Package agenttest runs agents in tests, in memory and with virtual time, and injects the faults
// that an agent must survive. The engine and the store are the real ones. Only the tasks that the
// test replaces, and the model, which plays a script, are fakes.
//
// A Scenario describes an execution. [Run] runs it once and returns its Outcome.
// [CrashAtEveryCommit] runs it many times: each time the worker dies at another commit, just before
// or just after the commit is stored. Another worker continues, and the outcome must be the same.
// [DeliverTwice] delivers every call twice. [LoseLeaseAtEveryPoint] moves the lease of a worker to
// another worker, and does not tell the first one. [RunReentered] parks no goroutine during a wait.
// [All] runs all of these.
//
// # Time
//
// A run is a bubble of testing/synctest. In the agent, the tasks and the server, time.Now, timers
// and sleeps are virtual, and begin at midnight of 2000-01-01 UTC. Time passes when all goroutines
// wait, so thirty days take milliseconds. A wait for something outside the bubble (a channel
// created before the run, the network) stops time. So a run cannot be inside a bubble of its
// caller, and goroutines that the agent or a task starts must end.
//
// # Comparison
//
// The checks compare status, output and error, the conversation (roles and content), the scheduled
// tasks (kind and input), the taken signals and the questions (key, kind, status and answer). They
// rename ids first: entries by their order on the path, all other ids to one name. If outcomes may
// differ for a good reason, such as a recorded time, Scenario.Normalize removes the difference. In
// addition, no task whose result is stored may run again, no worker may write after it has lost its
// lease, and the store must be consistent.
//
// A crash during a task that must not run twice (OnLost report) ends that task as INTERRUPTED, as
// it does in production. The agent decides how to continue. The checks verify the other rules for
// such an outcome, but do not compare it.
package agenttest
