package perdure

import "github.com/google/uuid"

const (
	// EndedPageHeads is the most heads of one EndedPage.
	EndedPageHeads = 500
	// EndedInline is the most bytes of a result that a head carries: those of a text of
	// 1 KiB and what JSON adds to it.
	EndedInline = 1<<10 + 128
	// EndedPageBytes is about the most bytes of the results and errors of one
	// EndedPage. Heads beyond it are on the next page.
	EndedPageBytes = 1 << 20
)

// EndedHead says how a step or a task of an execution ended. A function that is
// entered again asks for many of them, so they travel in pages and without what is
// large.
type EndedHead struct {
	ID     uuid.UUID // as TaskID derives it from the key
	Kind   string    // the task's kind, or the step's name
	Step   bool
	Status TaskStatus
	// Size is the length of the result in bytes; 0 where the store would have to
	// compose the result to know it.
	Size int64
	// InputSize is the length of a task's input in bytes.
	InputSize int64
	// Result has at most EndedInline bytes in place. Its reference is set for a
	// result that is stored as a blob.
	Result Payload
	Error  *TaskError
	// Partial says that result or error are left out: Dispatch.Tasks has them.
	Partial bool
}

// EndedPage is a page of heads, oldest record first.
type EndedPage struct {
	Heads []EndedHead
	// From is the After that the page answers, Next that of the next page. More
	// reports whether there is a next page.
	From, Next int64
	More       bool
	// Whole reports whether no record of the execution lies before the first page of
	// the claim, which else begins with the first record since the newest checkpoint.
	Whole bool
}

// EndedQuery asks for the page after a position.
type EndedQuery struct {
	Lease Lease
	After int64
}
