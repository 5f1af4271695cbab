package react_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm/scripted"
)

// longTalk returns a conversation that a client sends. It consists of a summary, user and assistant
// messages that exceed a window of 6,000 tokens, and a last message.
func longTalk() []perdure.InputMessage {
	said := func(role perdure.Role, text string) perdure.InputMessage {
		return perdure.InputMessage{Role: role, Parts: []perdure.Part{perdure.Text(text)}}
	}
	summary := perdure.InputMessage{
		Role: perdure.RoleUser, Parts: []perdure.Part{perdure.Compaction("They greeted each other.")},
		Compaction: &perdure.CompactionRecord{Reason: perdure.CompactionInput, Messages: 7, TokensBefore: 900, TokensAfter: 10},
	}
	all := []perdure.InputMessage{
		said(perdure.RoleUser, "old"), said(perdure.RoleAssistant, "older"), said(perdure.RoleSystem, "Be kind."), said(perdure.RoleUser, "kept"), summary,
	}
	for i := range 12 {
		all = append(all, said(perdure.RoleUser, fmt.Sprint("question ", i)), said(perdure.RoleAssistant, strings.Repeat("word ", 500)))
	}
	return append(all, said(perdure.RoleUser, "last"))
}

// TestAResponseThatOnlyCompacts checks that a response that only compacts summarises the whole
// conversation, in parts that fit into the window. This must hold at whichever commit the worker
// dies, and no stored summary may be requested again. The messages directly before the client's
// summary stay in the context.
func TestAResponseThatOnlyCompacts(t *testing.T) {
	longtest.Skip(t, "seconds")
	play := func(t *testing.T, nth int) (conversation []string, records []perdure.CompactionRecord, summaries int, reached bool) {
		s := emptyWorkerPool(t, strings.Repeat("turn\n  text ok\n", 30))
		n := &windowModel{Provider: scripted.New(scripted.Config{Dir: s.scripts, Journal: s.journal}), window: 6000}
		d := crashAfterCommits{mu: &sync.Mutex{}, left: &nth, died: make(chan struct{})}
		l := &lookTool{runs: map[int]int{}}
		stop := s.work(100, n.employ(l), func(c *workerSetup) {
			c.over = func(inner perdure.Dispatch) perdure.Dispatch { d.Dispatch = inner; return d }
		})
		id := s.start(engine.StartRequest{Messages: longTalk(), OneShot: true, Turns: perdure.Turns{Compact: perdure.CompactOnly}})
		ended := make(chan *perdure.Execution, 1)
		go func() {
			ended <- s.until(id, func(x *perdure.Execution) bool { return x.Status.Terminal() })
		}()
		var x *perdure.Execution
		select {
		case <-d.died:
			reached = true
			stop()
			if err := s.engine.ReturnEmbedded(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.work(100, n.employ(l))
			x = <-ended
		case x = <-ended:
		}
		if x.Status != perdure.StatusCompleted {
			t.Fatalf("at commit %d the execution is %s: %v", nth, x.Status, *x.Error)
		}
		records = s.compactions(x)
		last := records[len(records)-1]
		if first := records[0]; first.Reason != perdure.CompactionInput || len(first.Pinned) != 2 || first.Messages != 7 {
			t.Errorf("the client's summary is %+v", first)
		}
		if last.KeepFrom != nil || last.Reason != perdure.CompactionManual {
			t.Errorf("the last compaction is %+v", last)
		}
		for i := range records { // the ids of entries differ between runs
			r := &records[i]
			r.Last, r.KeepFrom, r.Pinned = [16]byte{}, nil, nil
		}
		turns, asked := n.requests()
		if len(turns) > 0 {
			t.Errorf("%d turns", len(turns))
		}
		return s.conversation(id), records, len(asked), reached
	}
	want, records, summaries, _ := play(t, -1)
	if len(records) != summaries+1 || summaries < 2 {
		t.Fatalf("%d compactions, %d summaries", len(records), summaries)
	}
	for nth := 1; ; nth++ {
		got, again, asked, reached := play(t, nth)
		if !reached {
			t.Logf("%d commits", nth-1)
			return
		}
		if !slices.Equal(got, want) || fmt.Sprint(again) != fmt.Sprint(records) || asked > summaries+1 {
			t.Errorf("death at commit %d: %v, want %v; %d summaries, want %d; the conversations are equal: %t",
				nth, again, records, asked, summaries, slices.Equal(got, want))
		}
	}
}

// TestASummaryIsTheContext checks that a summary that a client sent covers everything before it.
// The next compaction continues that summary, and a copy of the conversation contains it.
func TestASummaryIsTheContext(t *testing.T) {
	s, n, _ := windowWorkerPool(t, 100, 100_000, strings.Repeat("turn\n  text ok\n", 30))
	id := s.start(engine.StartRequest{Messages: longTalk()})
	x := s.idle(id, 0)
	turns, _ := n.requests()
	texts := func(messages []perdure.Message) (all []string) {
		for _, m := range messages[:4] {
			all = append(all, m.PlainText())
		}
		return all
	}
	want := []string{"Be kind.", "kept", "They greeted each other.", "question 0"}
	if got := texts(turns[0].Messages); !slices.Equal(got, want) {
		t.Errorf("the model was asked with %q", got)
	}
	copied := s.start(engine.StartRequest{UserPrompt: "go on", From: &perdure.EntryRef{ExecutionID: id, EntryID: *x.Leaf}})
	s.idle(copied, 0)
	turns, _ = n.requests()
	if got := texts(turns[1].Messages); !slices.Equal(got, want) {
		t.Errorf("after a copy the model was asked with %q", got)
	}
	first := []perdure.InputMessage{longTalk()[4], {Role: perdure.RoleUser, Parts: []perdure.Part{perdure.Text(strings.Repeat("go ", 500))}}}
	began := s.idle(s.start(engine.StartRequest{Messages: first}), 0)
	if all := s.compactions(began); len(all) != 1 || all[0].Last != [16]byte{} || all[0].KeepFrom != nil {
		t.Errorf("at the beginning: %+v", all)
	}
	again := s.idle(s.start(engine.StartRequest{UserPrompt: "go on", From: &perdure.EntryRef{ExecutionID: began.ID, EntryID: *began.Leaf}}), 0)
	if all := s.compactions(again); len(all) != 1 || all[0].Last != [16]byte{} {
		t.Errorf("a copy of it: %+v", all)
	}
	s.compact(began.ID, `{}`)
	s.until(began.ID, func(x *perdure.Execution) bool { return x.WaitReason == "signal" && len(s.compactions(x)) == 2 })
	_, summaries := n.requests()
	if got := summaries[0].Messages[0].PlainText(); got != "They greeted each other." {
		t.Errorf("the summary was asked for with %q first", got)
	}
}

// TestAResponseThatOnlyCompactsFails checks that a response that only compacts fails if no summary
// can be stored. The error contains the reason.
func TestAResponseThatOnlyCompactsFails(t *testing.T) {
	for script, want := range map[string]string{
		"summary\n  fail invalid_request no\n": "no", "summary\n  text I stop\n  stop max_tokens\n": "not whole",
	} {
		s, _, _ := windowWorkerPool(t, 100, 100_000, script+"turn\n  text ok\n")
		id := s.start(engine.StartRequest{Messages: longTalk(), OneShot: true, Turns: perdure.Turns{Compact: perdure.CompactOnly}})
		x := s.until(id, func(x *perdure.Execution) bool { return x.Status.Terminal() })
		if x.Status != perdure.StatusFailed || x.Error == nil || !strings.Contains(*x.Error, want) {
			t.Errorf("%q: %s, %v", script, x.Status, x.Error)
		}
	}
}
