package bench

import (
	"fmt"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// turnsModel is a model that calls one tool in each turn and never ends.
const turnsModel = "turns"

// turns counts the calls of turnsModel. A call waits until the benchmark allows the call.
type turns struct {
	changed *sync.Cond // uses the provider's mu
	asked   int
	allowed int
}

// turn waits until the turn is allowed, and answers with 1 KiB of text and a tool call.
func (p *provider) turn(r llm.Request, emit func(llm.Delta) error) (*llm.Response, error) {
	p.mu.Lock()
	p.asked++
	p.changed.Broadcast()
	for n := p.asked; n > p.allowed; {
		p.changed.Wait()
	}
	n := p.asked
	p.mu.Unlock()
	b := llm.NewBuilder(emit)
	if err := b.Text(body(1 << 10)); err != nil {
		return nil, err
	}
	call, err := b.StartTool(lookUp.Name, fmt.Sprintf("call_%d", n))
	if err != nil {
		return nil, err
	}
	if err := b.ToolArguments(call, fmt.Sprintf(`{"n":%d}`, n)); err != nil {
		return nil, err
	}
	if err := b.EndTool(call); err != nil {
		return nil, err
	}
	return b.Finish(llm.Model{Provider: providerName, ID: r.Model}, perdure.StopToolUse, perdure.Usage{Input: 100, Output: 300}, nil)
}

// allowTurns allows turns up to number n.
func (p *provider) allowTurns(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = n
	p.changed.Broadcast()
}

// reach waits for the call after turn n, which shows that n turns have ended. It returns the number
// of calls.
func (p *provider) reach(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.asked <= n {
		p.changed.Wait()
	}
	return p.asked
}
