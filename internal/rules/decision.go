package rules

import (
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Decision is what a function of this package returns besides the changes to store: a value for the
// caller, and the effects that the engine applies after the commit. It is in the field Answer of
// the changes.
type Decision struct {
	Value any
	Hints []Hint
	Freed []Freed
	Live  []LiveContent
	Seen  []Observation
	// Growth, if set, contains all records that were added to the log.
	Growth *Growth
	Woken  *Woken // the claim that the function made for the worker of a Handover or of the request itself
}

// Answer returns changes that store nothing and contain only a value for the caller.
func Answer(value any) *store.Changes { return &store.Changes{Answer: &Decision{Value: value}} }

// HintKind is the kind of a hint. It determines what the receivers of the hint should read again.
type HintKind int

const (
	HintAgents     HintKind = iota // an execution of Org became PENDING on Queue
	HintTasks                      // a task of Org became claimable on Queue
	HintLog                        // the log of Execution has grown
	HintDue                        // a timer was set
	HintRecheck                    // postponed work has become due
	HintQuestions                  // a question of Org has changed
	HintDeliveries                 // a delivery is due
	HintPauses                     // a queue was paused or resumed
	HintBulk                       // a bulk action was created
	HintLeases                     // a heartbeat of Worker of Org has news about what it has claimed
)

// Hint tells the subscribers of a topic to read the store. The comment of each HintKind names the
// fields that are set.
type Hint struct {
	Kind      HintKind
	Org       string
	Queue     string
	Execution uuid.UUID
	Worker    uuid.UUID
}

// Growth contains the records that one commit adds to a log.
type Growth struct {
	Execution uuid.UUID
	Head      store.Head       // where the log ends after the addition
	Records   []perdure.Record // added records, as the store returns them
}

// Freed says that a task no longer counts for the limit of its queue or its concurrency key, so
// that another task may run.
type Freed struct {
	Org, Queue string
	Keyed      bool // the task has a concurrency key
}

// LiveContent is the content of the log record with the given Pos. The content is not stored. Only
// clients that read the log while it is written get the content.
type LiveContent struct {
	Pos     int64
	Content []byte
}

// Woken describes the claim that a function of this package has made of an execution after it has
// woken the execution. The engine need not read again what the fields contain.
type Woken struct {
	Execution perdure.Execution
	// Kept is the state of the suspended goroutine that the worker keeps in memory. If it is nil,
	// the state is unknown, and the claim must contain all data of the execution.
	Kept   *perdure.RetainedState
	Task   *perdure.Task   // the task whose end by this worker woke the execution, without contents; may be nil
	Signal *perdure.Signal // the signal that woke the execution, with its value; may be nil
	Waited time.Duration   // how long the poll that returns the claim had waited
	Again  bool            // the claim was made by an earlier request, which this one repeats
	Ended  bool            // the poll asked for the ended tasks and steps
}

// Work is the kind of a claim: an execution or a task.
type Work string

// The two kinds of Work.
const (
	WorkExecution Work = "execution"
	WorkTask      Work = "task"
)

// ObservationKind is the kind of an Observation.
type ObservationKind int

const (
	ObservedClaim    ObservationKind = iota // Work on Queue was claimed, after it was ready for Waited
	ObservedLoss                            // the holder of Work on Queue did not renew its lease in time
	ObservedTakeover                        // an execution on Queue whose last worker was lost was claimed
	ObservedStart                           // Run was started
	ObservedWait                            // Run waits for a signal or an answer, for example from a person
	ObservedEnd                             // Run ended
)

// Observation is an event for metrics. The comment of each ObservationKind names the fields that
// are set.
type Observation struct {
	Kind   ObservationKind
	Work   Work
	Queue  string
	Waited time.Duration
	Run    ObservedRun
}

// ObservedRun is an execution of an Observation, without contents.
type ObservedRun struct {
	Org    string
	ID     uuid.UUID
	Kind   string
	Status perdure.Status
	Code   perdure.Code // error code of an execution that failed
	Wait   string       // why the execution waits, as perdure.Wait.Reason returns it
}

func noExecution(id uuid.UUID) error {
	return perdure.Errorf(perdure.NotFound, "there is no execution %s", id)
}
