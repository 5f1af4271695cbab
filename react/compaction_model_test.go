package react_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
	"github.com/perdure/perdure/tool"
)

// windowModel is a scripted provider whose models have a context window. It refuses a request over
// the window, as a provider does.
type windowModel struct {
	*scripted.Provider
	providers *llm.Providers
	mu        sync.Mutex
	window    int
	asked     []llm.Request
	forget    bool // requests are not recorded in the field asked
	// While the channel `held` is set and not closed, requests for summaries wait. For each such
	// request, one value is sent to the channel `writing`.
	held, writing chan struct{}
	// While the channel `end` is set and not closed, the model call with the number `endAt`
	// (counted from 0) waits.
	end   chan struct{}
	endAt int
}

func (n *windowModel) Stream(ctx context.Context, r llm.Request, emit func(llm.Delta) error) (*llm.Response, error) {
	n.mu.Lock()
	if !n.forget {
		n.asked = append(n.asked, r)
	}
	window := n.window
	n.mu.Unlock()
	if turns, _ := n.requests(); n.end != nil && r.Purpose != llm.PurposeCompaction && len(turns) == n.endAt+1 {
		<-n.end
	}
	if r.Purpose == llm.PurposeCompaction && n.held != nil {
		n.writing <- struct{}{}
		select {
		case <-n.held:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if err := llm.CheckMessages(n, r.Messages); err != nil {
		return nil, &llm.Error{Kind: llm.InvalidRequest, Provider: n.Name(), Message: err.Error()}
	}
	if size := llm.Estimate(r.System, r.Tools, r.Messages, llm.Limits{}); size > window {
		return nil, &llm.Error{Kind: llm.ContextLength, Provider: n.Name(), Message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", size, window)}
	}
	return n.Provider.Stream(ctx, r, emit)
}

// requests returns the requests so far: first the requests of turns, then the requests for
// summaries.
func (n *windowModel) requests() (turns, summaries []llm.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.asked {
		if r.Purpose == llm.PurposeCompaction {
			summaries = append(summaries, r)
		} else {
			turns = append(turns, r)
		}
	}
	return turns, summaries
}

// lookTool replaces the built-in tool find. It returns as many bytes as the call asks for. Each
// call has a number. lookTool counts how often the call with each number is run.
type lookTool struct {
	mu   sync.Mutex
	runs map[int]int
	// stops contains the numbers of the calls that wait. Such a call sends its number to the
	// channel `stopped`, and then waits for a value from the channel `next`.
	stops   []int
	stopped chan int
	next    chan struct{}
	// during, if set, is called with the number of each call of the tool.
	during func(number int)
}

type lookInput struct {
	Number int `json:"number"`
	Bytes  int `json:"bytes"`
}

func (l *lookTool) tool() tool.Tool {
	looks := tool.New("find", "Looks.", func(ctx context.Context, _ *tool.Call, in lookInput) (tool.Result, error) {
		if l.during != nil {
			l.during(in.Number)
		}
		if slices.Contains(l.stops, in.Number) {
			select {
			case l.stopped <- in.Number:
				<-l.next
			case <-ctx.Done():
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.runs[in.Number]++
		return tool.Text(fmt.Sprintf("look %d: %s", in.Number, strings.Repeat("x", in.Bytes))), nil
	})
	looks.OnLost = perdure.OnLostRetry // a call changes nothing
	return looks
}

// looks returns a script for the model: n turns that call the lookTool, and then turns with only a
// text.
func looks(n, bytes int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "turn\n  call find {\"number\": %d, \"bytes\": %d}\n", i, bytes)
	}
	return b.String() + "turn\n  text Done.\nturn\n  text You are welcome.\n"
}

// windowWorkerPool creates a worker pool with one worker, whose model has a window of the given
// number of tokens.
func windowWorkerPool(t *testing.T, parked, window int, script string, change ...func(*workerSetup)) (*workerPool, *windowModel, *lookTool) {
	t.Helper()
	s := emptyWorkerPool(t, script)
	n := &windowModel{Provider: scripted.New(scripted.Config{Dir: s.scripts, Journal: s.journal}), window: window}
	l := &lookTool{runs: map[int]int{}}
	s.work(parked, append([]func(*workerSetup){n.employ(l)}, change...)...)
	return s, n, l
}

// employ returns a change of a worker's configuration: the worker gets the model n and the tool l.
func (n *windowModel) employ(l *lookTool) func(*workerSetup) {
	return func(c *workerSetup) {
		c.Providers = llm.NewProviders(n)
		n.providers = c.Providers
		c.Providers.SetWindows(llm.Windows{{Provider: "scripted", ID: "s"}: {Window: n.window}})
		c.Tools = slices.DeleteFunc(slices.Clone(c.Tools), func(t tool.Tool) bool { return t.Name == "find" })
		c.Tools = append(c.Tools, l.tool())
	}
}

// compactions returns the records of the compactions on the path of the execution.
func (s *scriptedEngine) compactions(x *perdure.Execution) []perdure.CompactionRecord {
	s.t.Helper()
	var all []perdure.CompactionRecord
	for e, err := range s.store.Path(s.t.Context(), x.ID, *x.Leaf, nil, 0, false) {
		if err != nil {
			s.t.Fatal(err)
		}
		if e.Type != perdure.EntryCompaction {
			continue
		}
		c, err := e.Compaction()
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}
