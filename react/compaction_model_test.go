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
	forget    bool // requests are not recorded in asked
	// held, if set, holds back summaries until it is closed. One value is sent to writing for each
	// request for a held summary.
	held, writing chan struct{}
	// end, if set, holds back the answer of call endAt, from 0, until it is closed.
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

// requests returns the requests so far: those of turns, and those for summaries.
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

// lookTool is a tool that returns as many bytes as asked, and counts its runs by number.
type lookTool struct {
	mu   sync.Mutex
	runs map[int]int
	// stops are the numbers at which a look waits for a value of next, after it has sent its number to
	// stopped.
	stops   []int
	stopped chan int
	next    chan struct{}
	// during, if set, is called with the number of each look.
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
	looks.OnLost = perdure.OnLostRetry // it changes nothing
	return looks
}

// looks returns a script of n turns that call look, and a last one that says Done.
func looks(n, bytes int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "turn\n  call find {\"number\": %d, \"bytes\": %d}\n", i, bytes)
	}
	return b.String() + "turn\n  text Done.\nturn\n  text You are welcome.\n"
}

// windowWorkerPool creates a worker pool with one worker, whose model has a window of that many
// tokens.
func windowWorkerPool(t *testing.T, parked, window int, script string, change ...func(*workerSetup)) (*workerPool, *windowModel, *lookTool) {
	t.Helper()
	s := emptyWorkerPool(t, script)
	n := &windowModel{Provider: scripted.New(scripted.Config{Dir: s.scripts, Journal: s.journal}), window: window}
	l := &lookTool{runs: map[int]int{}}
	s.work(parked, append([]func(*workerSetup){n.employ(l)}, change...)...)
	return s, n, l
}

// employ returns a change of a worker's configuration: its model is n, its tool is l.
func (n *windowModel) employ(l *lookTool) func(*workerSetup) {
	return func(c *workerSetup) {
		c.Providers = llm.NewProviders(n)
		n.providers = c.Providers
		c.Providers.SetWindows(llm.Windows{{Provider: "scripted", ID: "s"}: {Window: n.window}})
		c.Tools = slices.DeleteFunc(slices.Clone(c.Tools), func(t tool.Tool) bool { return t.Name == "find" })
		c.Tools = append(c.Tools, l.tool())
	}
}

// compactions returns the compactions on the path of the execution.
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
