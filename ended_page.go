package perdure

import "github.com/google/uuid"

const (
	// EndedPageHeads is the maximum number of heads in an EndedPage.
	EndedPageHeads = 500
	// EndedInline is the maximum size in bytes of a result that an EndedHead carries: a text of 1 KiB
	// and its JSON syntax.
	EndedInline = 1<<10 + 128
	// EndedPageBytes is the approximate maximum size in bytes of the results and errors of an
	// EndedPage. Further heads are on the next page.
	EndedPageBytes = 1 << 20
)

// EndedHead describes how a step or a task of an execution ended. A function that is entered again
// may need many heads, so they are sent in pages, without large results.
type EndedHead struct {
	ID     uuid.UUID // as TaskID derives it from the key
	Kind   string    // the task's kind, or the step's name
	Step   bool
	Status TaskStatus
	// Size is the length of the result in bytes. It is 0 if the store would have to load the whole
	// result to know its length.
	Size int64
	// InputSize is the length of a task's input in bytes.
	InputSize int64
	// Result holds results of at most EndedInline bytes inline. For a result that is stored as a blob,
	// Result.Blob is set.
	Result Payload
	Error  *TaskError
	// Partial reports that the result or the error is left out. Dispatch.Tasks returns the whole
	// task.
	Partial bool
}

// EndedPage is a page of heads, in the order in which their records were created.
type EndedPage struct {
	Heads []EndedHead
	// From is the position after which this page begins (EndedQuery.After), and Next the position
	// after which the next page begins. More reports whether there is a next page.
	From, Next int64
	More       bool
	// Whole reports, on the page in a claim, that the page begins with the execution's first record.
	// Otherwise that page begins with the first record since the newest checkpoint. On other pages
	// Whole is false.
	Whole bool
}

// EndedQuery requests the page after the position After.
type EndedQuery struct {
	Lease Lease
	After int64
}
