// Package agenttest runs agents in tests, in memory and with virtual time, and injects the faults
// that an agent must survive. The rules, the store and the worker are the real ones. Only the tasks
// that the test replaces, and the model, which plays a script, are fakes.
//
// A Scenario describes an execution. [Run] runs it once and returns its Outcome.
// [CrashAtEveryCommit] runs it many times: each time the worker dies at another commit, just before
// or just after it is stored. Another worker takes over, and the outcome must be the same.
// [DeliverTwice] delivers every call twice. [LoseLeaseAtEveryPoint] takes the lease from a worker
// without its knowledge. [Reentered] parks no goroutine during a wait. [All] runs all of these.
//
// # Time
//
// A run is a bubble of testing/synctest. time.Now, timers and sleeps are virtual in the agent, the
// tasks and the server, and begin at midnight of 2000-01-01 UTC. Time passes when everything waits,
// so thirty days take milliseconds. A wait for something outside the bubble (a channel created
// before the run, the network) stops time. A run can therefore not be inside a bubble of its
// caller, and goroutines that the agent or a task starts must end.
//
// # What is compared
//
// The checks compare status, output and error, the conversation (roles and content), the scheduled
// tasks (kind and input) and the taken signals. They rename ids first: entries by their order on
// the path, all other ids to one name. If outcomes may differ for a good reason, such as a recorded
// time, Scenario.Normalize removes the difference. In addition, no task with a stored result may
// run again, no worker may write after it has lost its lease, and the store must be consistent.
//
// A crash during a task that must not run twice (OnLost report) ends that task as INTERRUPTED, as
// it does in production. The agent decides how to continue. The checks verify the invariants of
// such an outcome and do not compare it.
package agenttest
