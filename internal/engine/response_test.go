package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// responsesOf returns one letter for each event in the log of the execution, in order. The letter
// stands for the response id of the event; "-" means no response id.
func (b *bench) responsesOf(id uuid.UUID) string {
	b.Helper()
	letters := map[string]string{"": "-"}
	text := ""
	for _, r := range b.log(id) {
		if letters[r.Place.ResponseID] == "" {
			letters[r.Place.ResponseID] = string(rune('A' + len(letters) - 1))
		}
		text += letters[r.Place.ResponseID]
	}
	return text
}

// second returns an execution that has ended its first response and has taken the message that
// begins its second response, with the ids of both responses.
func second(t *testing.T) (b *bench, h *holder, first, second string) {
	t.Helper()
	b = newBench(t)
	h = b.started()
	first = h.claim.Execution.ResponseID
	h.commit(func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{user(nil, "one")} })
	h.suspend(perdure.WaitSignal(perdure.UserMessage))
	b.signal(h.id, perdure.UserMessage, "s1")
	h = b.claim()
	s := h.claim.Signals[0]
	h.commit(func(c *perdure.Commit) {
		e := user(h.claim.Execution.Leaf, "two")
		e.ResponseID, e.Key = s.ResponseID, s.EntryKey()
		c.Take, c.Entries = []string{s.ID}, []perdure.NewEntry{e}
	})
	return b, h, first, s.ResponseID
}

func TestEventsBelongToTheirResponse(t *testing.T) {
	b, h, first, other := second(t)
	if first == other || !strings.HasPrefix(other, "resp_") || len(other) != len("resp_")+24 {
		t.Fatalf("the responses are %q and %q", first, other)
	}
	h.commit(func(c *perdure.Commit) {
		c.Tasks = []perdure.NewTask{h.newTask(`1`)}
		c.Events = []perdure.NewEvent{{Type: perdure.EventData, Fields: json.RawMessage(`{"data":1}`)}}
		c.Checkpoint = &perdure.NewCheckpoint{}
	})
	b.finish(done(b.taskClaim(), `1`))
	h.commit(completing())
	// The first response has the events created, started, entry and waiting. The second one has
	// signal, resumed, entry, scheduled, data, checkpoint, started, completed and completed.
	if got, want := b.responsesOf(h.id), "AAAA"+"BBB"+"BBB"+"BB"+"B"; got != want {
		t.Errorf("the events %v belong to %s, want %s", b.events(h.id), got, want)
	}
	for _, e := range b.pathOf(b.execution(h.id).Leaf, h.id) {
		if e.MessageID != e.ID.String() {
			t.Errorf("the message of entry %s is %q", e.ID, e.MessageID)
		}
	}
}

// TestOnlyInputsBeginResponses checks that an entry whose response id is not the execution's
// current one, such as a copied entry, does not begin a response.
func TestOnlyInputsBeginResponses(t *testing.T) {
	b, h, _, running := second(t)
	h.commit(func(c *perdure.Commit) {
		e := user(b.execution(h.id).Leaf, "copied")
		e.ResponseID, e.Key = "resp_other", "from:x"
		c.Entries = []perdure.NewEntry{e}
	})
	h = takeover(h)
	if got := h.claim.Execution.ResponseID; got != running {
		t.Errorf("%q runs, want %q", got, running)
	}
}

// TestSteeringJoinsTheResponse checks a message that arrives during a response. The signal of the
// message has its own response id. The entry of the message and the end of the execution belong to
// the response that was running.
func TestSteeringJoinsTheResponse(t *testing.T) {
	b, h, _, running := second(t)
	b.signal(h.id, perdure.UserMessage, "s2")
	if got := b.execution(h.id).ResponseID; got != running {
		t.Fatalf("a message that nobody has taken began %q; %q runs", got, running)
	}
	pending, err := b.s.PendingSignals(t.Context(), h.id, nil, 0, 10)
	b.must(err)
	s := pending[0]
	h.commit(func(c *perdure.Commit) {
		e := user(b.execution(h.id).Leaf, "three")
		e.ResponseID, e.Key = running, s.EntryKey()
		c.Take, c.Entries = []string{s.ID}, []perdure.NewEntry{e}
	})
	h.commit(completing())
	records := b.log(h.id)
	if s.ResponseID == running || records[len(records)-1].Place.ResponseID != running {
		t.Errorf("%q joined, and %q ended; %q ran", s.ResponseID, records[len(records)-1].Place.ResponseID, running)
	}
	// The entry of the message has the key of the signal and the id of the response that the
	// message joined.
	all := b.pathOf(b.execution(h.id).Leaf, h.id)
	if e := all[len(all)-1]; e.Key != s.EntryKey() || e.ResponseID != running {
		t.Errorf("the message is stored under %q in %q", e.Key, e.ResponseID)
	}
}

// TestEndsBelongToTheirResponse checks that the last event of an execution belongs to the response
// that was running. If the execution was waiting for its user, no response was running, and the
// event belongs to none.
func TestEndsBelongToTheirResponse(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(b *bench, h *holder)
		want func(first, second string) string
	}{
		"failed": {
			func(_ *bench, h *holder) {
				h.commit(func(c *perdure.Commit) { c.Outcome.Kind = perdure.OutcomeFail })
			},
			func(_, second string) string { return second },
		},
		"cancelled while it runs": {
			func(b *bench, h *holder) {
				b.cancel(h.id)
				h.commit(func(c *perdure.Commit) { c.Outcome.Kind = perdure.OutcomeCancelled })
			},
			func(_, second string) string { return second },
		},
		"cancelled while it waits for a task": {
			func(b *bench, h *holder) {
				ids := h.schedule(`1`)
				h.suspend(perdure.WaitTask(ids[0]))
				b.cancel(h.id)
			},
			func(_, second string) string { return second },
		},
		"cancelled while it waits for the user": {
			func(b *bench, h *holder) {
				h.suspend(perdure.WaitSignal(perdure.UserMessage))
				b.cancel(h.id)
			},
			func(_, _ string) string { return "" },
		},
		"cancelled before the third is taken up": {
			func(b *bench, h *holder) {
				h.suspend(perdure.WaitSignal(perdure.UserMessage))
				b.signal(h.id, perdure.UserMessage, "s3")
				b.cancel(h.id)
			},
			func(_, _ string) string { return "third" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, h, first, second := second(t)
			c.end(b, h)
			records := b.log(h.id)
			end, want := records[len(records)-1], c.want(first, second)
			if want == "third" {
				for _, r := range records {
					if r.Type == perdure.EventSignal {
						want = r.Place.ResponseID
					}
				}
			}
			if !end.Type.Ends() || end.Place.ResponseID != want {
				t.Errorf("%s belongs to %q, want %q", end.Type, end.Place.ResponseID, want)
			}
		})
	}
}

func (b *bench) cancel(id uuid.UUID) {
	b.Helper()
	_, _, err := b.e.Cancel(b.Context(), org, id)
	b.must(err)
}

// TestClosingResultsBelongToTheResponse checks the results that the server appends at the end of an
// execution for tool calls without a result. These results belong to the same response as the
// calls, and have new message ids.
func TestClosingResultsBelongToTheResponse(t *testing.T) {
	b, h, _, second := second(t)
	h.commit(func(c *perdure.Commit) {
		c.Entries = []perdure.NewEntry{calling(b.execution(h.id).Leaf, "c1", "c2")}
		c.Outcome.Kind = perdure.OutcomeFail
	})
	seen := map[string]bool{}
	results := 0
	for _, e := range b.pathOf(b.execution(h.id).Leaf, h.id) {
		if seen[e.MessageID] || e.MessageID == "" {
			t.Errorf("entry %s is the message %q", e.ID, e.MessageID)
		}
		seen[e.MessageID] = true
		if e.Role == perdure.RoleToolResult {
			results++
			if e.ResponseID != second {
				t.Errorf("a result belongs to %q, not %q", e.ResponseID, second)
			}
		}
	}
	if results != 2 {
		t.Errorf("%d results", results)
	}
}

// TestPlaceholdersAreNotStored checks that the server replaces the placeholder ids of responses and
// messages that a worker sends in entries, tasks, events and blocks.
func TestPlaceholdersAreNotStored(t *testing.T) {
	const fake = "__fake_id__"
	place := perdure.Place{ResponseID: fake, MessageID: fake, TurnID: "turn_0"}
	b := newBench(t)
	h := b.started()
	h.commit(func(c *perdure.Commit) {
		e := user(nil, "one")
		e.ResponseID, e.MessageID = fake, fake
		task := h.newTask(`1`)
		task.Place = place
		c.Entries, c.Tasks = []perdure.NewEntry{e}, []perdure.NewTask{task}
		c.Events = []perdure.NewEvent{{Type: perdure.EventData, Place: place, Fields: json.RawMessage(`{"data":1}`)}}
	})
	claim := b.taskClaim()
	frames := []perdure.Frame{
		{Lease: &claim.Lease, Block: 0, Type: perdure.EventToken, Place: place, Text: "text"},
		{Lease: &claim.Lease, Block: 1, Type: perdure.EventData, Place: place, Fields: json.RawMessage(`{"data":1}`)},
		{AgentLease: &h.claim.Lease, Block: 0, Type: perdure.EventThinking, Place: place, Text: "text", Close: true},
	}
	replies, err := b.d.Append(t.Context(), frames)
	b.must(err)
	for _, r := range replies {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	h.commit(completing())
	if text := b.snapshot(h.id); strings.Contains(text, fake) {
		t.Errorf("a placeholder is stored: %s", text)
	}
	for _, r := range b.log(h.id) {
		if r.Place.ResponseID != h.claim.Execution.ResponseID {
			t.Errorf("%s belongs to %q", r.Type, r.Place.ResponseID)
		}
	}
}

// TestClosingResultsNameTheirTools checks that the result that the server appends for a tool call
// without a result names the tool. The cases are a call in the same commit, in an earlier commit,
// and in a blob.
func TestClosingResultsNameTheirTools(t *testing.T) {
	large := strings.Repeat("x", perdure.InlineLimit+1)
	for name, c := range map[string]struct {
		text  string
		apart bool
	}{
		"the same commit": {"short", false}, "an earlier commit": {"short", true}, "a blob of an earlier commit": {large, true},
	} {
		t.Run(name, func(t *testing.T) {
			b, h, _, _ := second(t)
			calls := calling(b.execution(h.id).Leaf, "c1", "c2")
			if len(c.text) > perdure.InlineLimit {
				calls = largeCalling(b.execution(h.id).Leaf, c.text, "c1", "c2")
			}
			h.commit(func(commit *perdure.Commit) {
				commit.Entries = []perdure.NewEntry{calls, answering(&calls.ID, "c1")}
				if !c.apart {
					commit.Outcome.Kind = perdure.OutcomeFail
				}
			})
			if c.apart {
				h.commit(func(commit *perdure.Commit) { commit.Outcome.Kind = perdure.OutcomeFail })
			}
			path := b.pathOf(b.execution(h.id).Leaf, h.id)
			last := path[len(path)-1]
			m, err := last.Message()
			b.must(err)
			if last.Answers != "c2" || m.Parts[0].ToolName != "bash" {
				t.Errorf("the result of %s is of the tool %q", last.Answers, m.Parts[0].ToolName)
			}
		})
	}
}

func largeCalling(parent *uuid.UUID, text string, calls ...string) perdure.NewEntry {
	m := perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text(text)}}}
	for _, id := range calls {
		m.Parts = append(m.Parts, perdure.Part{Type: perdure.PartToolCall, ID: id, Name: "bash", RawArguments: "{}"})
	}
	return message(parent, m)
}
