package face_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/perdure/perdure"
)

// source streams blocks to a log for an attempt of a task, or for the agent itself.
type source struct {
	*run
	lease *perdure.TaskLease // nil for the agent itself
	held  map[int64]int64    // bytes streamed until now, by block
	types map[int64]perdure.EventType
}

func newSource(r *run, lease *perdure.TaskLease) *source {
	return &source{r, lease, map[int64]int64{}, map[int64]perdure.EventType{}}
}

// newAttempt schedules a task and returns the source for its attempt.
func newAttempt(r *run, name string) *source {
	lease := r.Schedule("bash", name)
	return newSource(r, &lease)
}

func (s *source) frame(f frame) {
	if f.Lease = s.lease; s.lease == nil {
		f.AgentLease = &s.run.Lease
	}
	s.Append(f)
}

// chunk appends text to a block, and begins the block if it is new.
func (s *source) chunk(block int64, typ perdure.EventType, text string) {
	f := frame{Block: block, Type: typ, Offset: s.held[block], Text: text}
	switch typ {
	case perdure.EventTerminal:
		f.Stream = []string{"stdout", "stderr"}[block%2]
	case perdure.EventData:
		f.ToolCallID = fmt.Sprintf("call_%d", block)
	}
	s.held[block] += int64(len(text))
	s.types[block] = typ
	s.frame(f)
}

func (s *source) close(block int64) {
	s.frame(frame{Block: block, Type: s.types[block], Offset: s.held[block], Close: true})
}

func (s *source) emit(block int64, typ perdure.EventType, fields string) {
	s.frame(frame{Block: block, Type: typ, Fields: json.RawMessage(fields)})
}

func (s *source) done() {
	s.Finish(perdure.TaskFinish{Lease: *s.lease, Result: perdure.Inline([]byte(`"ok"`))})
}

// recordings are functions that create the events of a run for a client to read. A function may end
// the run; otherwise the test ends it.
var recordings = map[string]func(h *testServer, r *run){
	"nothing but its end": func(*testServer, *run) {},
	"one text": func(_ *testServer, r *run) {
		s := newSource(r, nil)
		s.chunk(0, "token", "Hello ")
		s.chunk(0, "token", "world")
		s.close(0)
	},
	"characters of many bytes": func(_ *testServer, r *run) {
		s := newSource(r, nil)
		for _, text := range []string{"é", "漢字", "👩‍👩‍👧", "a\u00a0b", "\u2028", "\x00", "ﬁ"} {
			s.chunk(0, "token", text)
			s.chunk(1, "thinking", text+text)
		}
		s.close(1)
	},
	"lines and markup": func(_ *testServer, r *run) {
		s := newSource(r, nil)
		for _, text := range []string{"id: 7\n", "\n\n", "event: end\ndata: {}\n\n", "\r\n", `{"seq":9}`, "<b>&amp;</b>"} {
			s.chunk(0, "token", text)
		}
	},
	"blocks side by side": func(_ *testServer, r *run) {
		s, one, two := newSource(r, nil), newAttempt(r, "one"), newAttempt(r, "two")
		for n := range 4 {
			s.chunk(0, "token", fmt.Sprint("text ", n))
			one.chunk(0, "terminal", fmt.Sprintf("one %d\n", n))
			two.chunk(1, "terminal", fmt.Sprintf("zwö %d\n", n))
		}
		two.done()
		s.chunk(0, "token", "more")
		one.done()
	},
	"a terminal": func(_ *testServer, r *run) {
		s := newAttempt(r, "ls")
		s.chunk(0, "terminal", "$ ls\n")
		s.chunk(1, "terminal", "wärning\n")
		s.chunk(0, "terminal", "\x1b[1ma b\x1b[0m\n")
		s.done()
	},
	"arguments of calls": func(_ *testServer, r *run) {
		s := newSource(r, nil)
		s.emit(0, "data", `{"data":{"type":"tool_call_start","tool_call":{"id":"call_1","name":"bash"}}}`)
		s.chunk(1, "data", `{"command":`)
		s.chunk(2, "data", `{"path":"ä`)
		s.chunk(1, "data", `"ls"}`)
		s.close(1)
		s.chunk(2, "data", `"}`)
		s.emit(3, "data", `{"data":{"type":"tool_call_end","tool_call":{"id":"call_1","name":"bash"},"result":{"text":"a"}}}`)
	},
	"an attempt that is given up": func(_ *testServer, r *run) {
		s := newAttempt(r, "one")
		s.chunk(0, "token", "a dra")
		s.chunk(1, "thinking", "hmm")
		s.chunk(0, "token", "ft")
		r.Fail(*s.lease)
		newSource(r, nil).chunk(0, "token", "the text")
	},
	"a thought that was whole before its attempt was given up": func(_ *testServer, r *run) {
		s := newAttempt(r, "one")
		s.chunk(0, "thinking", "a tho")
		s.chunk(0, "thinking", "ught")
		s.close(0)
		s.chunk(1, "token", "and te")
		s.chunk(1, "token", "xt")
		r.Say(userText("meanwhile"))
		r.Fail(*s.lease)
	},
	"tasks and entries": func(_ *testServer, r *run) {
		r.Say(userText("hi"))
		for n := range 3 {
			r.Task("bash", fmt.Sprint(n))
		}
		r.Say(assistantText("done"))
	},
	"events of the application": func(_ *testServer, r *run) {
		s := newAttempt(r, "one")
		s.emit(0, "data", `{"data":{"type":"progress","n":1}}`)
		s.chunk(1, "terminal", "half ")
		s.emit(2, "error", `{"message":"it broke","code":"internal"}`)
		s.chunk(1, "terminal", "way\n")
		s.done()
	},
	"messages of the user": func(h *testServer, r *run) {
		s := newSource(r, nil)
		s.chunk(0, "token", "Let me")
		h.Call("POST", h.Path(r.ID, "/signal"), `{"signalName":"userMessage","signalValue":{"text":"stöp"}}`).Want(200, nil)
		s.chunk(0, "token", " see")
		r.Say(userText("stöp"))
	},
	"a large entry": func(_ *testServer, r *run) {
		s := newSource(r, nil)
		s.chunk(0, "token", "x")
		r.Say(userText(strings.Repeat("x", 300<<10)))
		s.chunk(0, "token", "y")
	},
	"blocks that are open at the end": func(_ *testServer, r *run) {
		newAttempt(r, "one").chunk(0, "terminal", "cut off")
		newSource(r, nil).chunk(0, "token", "so far")
	},
	"a run that failed": func(_ *testServer, r *run) {
		newSource(r, nil).chunk(0, "token", "oh")
		r.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeFail, Error: &perdure.TaskError{Code: "internal", Message: "no"}}})
	},
	"a text in one piece": func(_ *testServer, r *run) { newSource(r, nil).chunk(0, "token", strings.Repeat("0123456789", 1000)) },
	"a text in many pieces": func(_ *testServer, r *run) {
		s := newSource(r, nil)
		for n := range 60 {
			s.chunk(0, "token", fmt.Sprintf("%d ", n))
		}
	},
	"events of many kinds": func(_ *testServer, r *run) {
		s := newSource(r, nil)
		r.Say(userText("hi"))
		r.Task("bash", "one")
		s.chunk(0, "terminal", "$ ls\n")
		s.chunk(1, "token", "Hel")
		s.chunk(2, "thinking", "hmm")
		s.chunk(1, "token", "lo wörld")
		s.chunk(0, "terminal", "a b\n")
		r.Task("bash", "two")
		r.Say(assistantText("Hello wörld"))
	},
	"chance": func(_ *testServer, r *run) {
		chance := rand.New(rand.NewPCG(1, 2))
		for step := newChance(r, chance); chance.IntN(60) > 0; {
			step()
		}
	},
	"more chance": func(_ *testServer, r *run) {
		step := newChance(r, rand.New(rand.NewPCG(3, 4)))
		for range 120 {
			step()
		}
	},
}

// newChance returns a function that performs one random step of the run at each call.
func newChance(r *run, chance *rand.Rand) func() {
	var tasks []*source
	agent, block, begun := newSource(r, nil), int64(0), 0
	types := []perdure.EventType{"token", "thinking", "terminal", "data"}
	words := []string{"a", "é ", "漢", "👍🏽", "\n\n", "lorem ipsum ", `"`}
	grow := func(s *source, first int64) {
		n := first + chance.Int64N(3)
		if s.types[n] == "" {
			s.types[n] = types[chance.IntN(len(types))]
		}
		s.chunk(n, s.types[n], words[chance.IntN(len(words))])
	}
	return func() {
		one := chance.IntN(max(1, len(tasks)))
		end := func(how func(*source)) {
			if len(tasks) > 0 {
				how(tasks[one])
				tasks = append(tasks[:one], tasks[one+1:]...)
			}
		}
		switch chance.IntN(12) {
		case 0:
			r.Say(userText("hi"))
		case 1:
			begun++
			tasks = append(tasks, newAttempt(r, fmt.Sprint("chance ", begun)))
		case 2:
			end((*source).done)
		case 3:
			end(func(s *source) { r.Fail(*s.lease) })
		case 4: // ends the open sources and begins new ones
			for n := block; n < block+3; n++ {
				if agent.held[n] > 0 {
					agent.close(n)
				}
			}
			block += 3
		case 5:
			r.Commit(perdure.Commit{Checkpoint: &perdure.NewCheckpoint{State: perdure.Inline([]byte("{}")), Reason: "turn"}})
		default:
			if len(tasks) > 0 && chance.IntN(2) == 0 {
				grow(tasks[one], 0)
			} else {
				grow(agent, block)
			}
		}
	}
}
