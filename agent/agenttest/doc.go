// Package agenttest runs agents in tests: in memory, with virtual time, and with
// everything that may happen to them. The rules, the store and the worker are
// the real ones; what is fake are the tasks, as far as the test wants them to be,
// and the model, which plays a script.
//
// A Scenario says what is run. [Run] runs it once and gives its Outcome.
// [CrashAtEveryCommit] runs it again and again: each time the worker dies at
// another commit, just before or just after it is stored, another worker takes
// over, and the outcome must be the same. [DeliverTwice] has every call arrive
// twice, [LoseLeaseAtEveryPoint] takes the execution away from a worker that does
// not know yet, [Reentered] keeps no goroutine over a wait, and [All] is all of it.
//
// # Time
//
// A run is a bubble of testing/synctest: time.Now, timers and sleeps are virtual
// in the agent, the tasks and the server alike, and begin at midnight of
// 2000-01-01 UTC. Time passes when everything waits, so thirty days take
// milliseconds. What waits for something that is not in the bubble (a channel
// made before the run, the network) holds time up. A run therefore cannot be
// inside a bubble of its caller, and goroutines that the agent or a task starts
// have to end.
//
// # What is compared
//
// Status, output and error, the conversation (roles and content), which tasks
// were asked for (kind and input), and which signals were taken. Ids are
// renamed first: entries in their order on the path, all others to one name.
// Where outcomes may differ for a good reason, a recorded time for one,
// Scenario.Normalize takes the difference out. Besides, no task whose result was
// stored may run again, no worker may write after it has lost its lease, and the
// store must hold together.
//
// A crash in the middle of a task that is not to run twice (OnLost report) ends
// that task as INTERRUPTED, as it would anywhere. What the agent makes of it is
// the agent's: such an outcome is checked for what must hold of any, and not
// compared.
package agenttest
