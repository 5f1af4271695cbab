package enginetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
	"pgregory.net/rapid"
)

// RandomLocalQuestions asks, answers, edits, withdraws and ends questions of a LOCAL execution at
// random, while its worker connects and disconnects. After each step, it compares the stored
// questions, and the questions as clients see them, with the reference model.
func RandomLocalQuestions(t *testing.T, open opentest.Opener) {
	if strings.HasSuffix(t.Name(), "/postgres") {
		longtest.Checks(t, 5, 20)
	} else {
		longtest.Checks(t, 20, 100)
	}
	usually(t, "rapid.steps", "50")
	rapid.Check(t, func(r *rapid.T) {
		m := newLocalMachine(inRapid{t, r}, open)
		defer func() { m.leave() }()
		r.Repeat(map[string]func(*rapid.T){
			"":        func(*rapid.T) { m.compare() },
			"command": func(r *rapid.T) { one(r, "command", m.possible(r))(r) },
		})
	})
}

// localMachine is the worker of a LOCAL execution, with the reference model of the execution's
// questions.
type localMachine struct {
	*machine
	x      *execution
	worker uuid.UUID
	lease  perdure.Lease
	number int64
	ended  bool
	*shelf
	leave func() // disconnects the worker
	away  bool
	// erased are the questions whose answers the server has erased, because the worker has reported
	// that it stores these answers.
	erased map[uuid.UUID]bool
}

// shelf is a worker's store of contents, in memory.
type shelf struct {
	mu  sync.Mutex // guards all
	all map[perdure.Hash][]byte
}

// Content implements perdure.ContentSource.
func (s *shelf) Content(_ context.Context, _ uuid.UUID, sum perdure.Hash) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok := s.all[sum]
	if !ok {
		return nil, perdure.Errorf(perdure.NotFound, "there is no content %s", sum)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

func (s *shelf) has(sum perdure.Hash) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.all[sum]
	return ok
}

func (s *shelf) put(content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[sha256.Sum256(content)] = content
}

// newLocalMachine starts and claims a LOCAL execution. The lease of this claim never ends.
func newLocalMachine(t inRapid, open opentest.Opener) *localMachine {
	m := &localMachine{
		machine: &machine{T: t.r, tb: t, ctx: t.Context(), clock: newClock()},
		worker:  uuid.New(), shelf: &shelf{all: map[perdure.Hash][]byte{}}, leave: func() {}, away: true, erased: map[uuid.UUID]bool{},
	}
	m.s = open(t, m.clock.Now)
	m.e = engine.New(engine.Config{Store: m.s, Lease: 1000 * time.Hour, Tick: time.Hour})
	m.d = m.e.Dispatch(org, false)
	m.must(register(m.ctx, m.d))
	x, err := m.e.Start(m.ctx, org, engine.StartRequest{Kind: "agent", PersistenceMode: perdure.Local})
	m.must(err)
	claims, err := m.d.PollAgents(m.ctx, perdure.Poll{
		WorkerID: m.worker, Queues: []string{"default", perdure.LocalQueue(m.worker)}, Kinds: []string{"agent"}, Slots: 1, Local: true, Features: perdure.AllFeatures,
	})
	m.must(err)
	if len(claims) != 1 {
		m.Fatalf("%d executions were claimed", len(claims))
	}
	m.lease, m.x = claims[0].Lease, created(x.ID, m.now())
	return m
}

func (m *localMachine) possible(t *rapid.T) []func(*rapid.T) {
	all := []func(*rapid.T){m.answer, m.answer, m.answer, m.look, m.timePasses, m.comeOrGo}
	if m.ended {
		return all
	}
	if sometimes(t, "end", 20) {
		return append(all, m.end)
	}
	return append(all, m.ask, m.ask, m.ask, m.withdraw, m.storeDecision, m.storeDecision)
}

// commit sends a commit, and fails the test unless the result has the wanted code.
func (m *localMachine) commit(c perdure.Commit, want perdure.Code) {
	m.Helper()
	c.Lease, c.Number = m.lease, m.number+1
	if c.Outcome.Kind == "" {
		c.Outcome.Kind = perdure.OutcomeContinue
	}
	_, err := m.d.Commit(m.ctx, c)
	m.code(err, want)
	if err == nil {
		m.number++
	}
}

// ask asks a question whose content is on the worker. Very large details are stored as a separate
// content.
func (m *localMachine) ask(t *rapid.T) {
	n := m.newQuestion(t)
	if sometimes(t, "large details", 6) {
		n.Details = json.RawMessage(`"` + strings.Repeat("x", perdure.InlineLimit) + `"`)
		n.DetailsSHA256 = perdure.DetailsHash(n.Kind, n.Subject, n.Details)
	}
	want := m.x.ask(perdure.Commit{Questions: []perdure.NewQuestion{n}}, m.now())
	asked, content := n.Withhold()
	m.put(content)
	if asked.Details != nil {
		ref := perdure.ContentRef(m.x.id, asked.Details)
		m.put(asked.Details)
		asked.Details, asked.DetailsBlob = nil, &ref
	}
	m.commit(perdure.Commit{Questions: []perdure.NewQuestion{asked}}, want)
}

func (m *localMachine) withdraw(t *rapid.T) {
	if id, ok := m.someQuestion(t, m.x, perdure.Commit{}); ok {
		c := perdure.Commit{Withdraw: []uuid.UUID{id}}
		m.commit(c, m.x.ask(c, m.now()))
	}
}

// answer sends a random vote. While the worker is disconnected, the server accepts only a denial.
func (m *localMachine) answer(t *rapid.T) {
	id, ok := m.someQuestion(t, m.x, perdure.Commit{})
	if !ok {
		return
	}
	voter, hash := one(t, "voter", voters), m.x.questions[id].hash
	r := questions.AnswerRequest{
		Question: id, AnswerID: fmt.Sprint("a", below(t, "answer", 3)), Role: perdure.KeyClient, DetailsSHA256: &hash, Reason: "so",
		Verdict: one(t, "verdict", []perdure.Verdict{perdure.VerdictApprove, perdure.VerdictApprove, perdure.VerdictDeny}),
	}
	if sometimes(t, "stale", 10) {
		r.DetailsSHA256 = &perdure.Hash{1}
	}
	v := vote{answer: r.AnswerID, verdict: r.Verdict, hash: r.DetailsSHA256}
	if sometimes(t, "edit", 3) {
		r.Details = json.RawMessage(one(t, "edited details", []string{`1`, `2`, `3`}))
		changed := perdure.DetailsHash(perdure.QuestionApproval, "bash", r.Details)
		v.edited = &changed
	}
	refused := perdure.Unavailable
	if !m.away || !m.x.takes(id, voter, v) || r.Verdict == perdure.VerdictDeny {
		refused = m.x.vote(id, voter, v, m.now())
	}
	_, err := m.e.Answer(store.By(m.ctx, perdure.Actor{KeyID: &voter, Name: voter.String()}), org, r)
	m.code(err, refused)
}

// takes reports whether the reference model accepts the vote: the vote is new, the question is open,
// and the voter may answer it.
func (x *execution) takes(id, voter uuid.UUID, v vote) bool {
	q := x.questions[id]
	first, voted := q.votes[voter]
	return q.status == perdure.QuestionOpen && (!voted || first != v.answer && v.edited != nil && *v.edited != q.hash)
}

// storeDecision does what the worker does with an answered question: it reads the question, stores
// what people have written, and reports in a commit that this is stored. The server then erases its
// copies.
func (m *localMachine) storeDecision(t *rapid.T) {
	id, ok := m.someQuestion(t, m.x, perdure.Commit{})
	if !ok {
		return
	}
	found, err := m.d.Questions(m.ctx, m.x.id, []uuid.UUID{id})
	m.must(err)
	content := found[0].Decision().Encode()
	if (content != nil) != (m.x.questions[id].status == perdure.QuestionAnswered && !m.erased[id]) {
		m.Fatalf("the worker reads %q of a question that is %s, erased: %v", content, m.x.questions[id].status, m.erased[id])
	}
	if content == nil {
		return
	}
	m.put(content)
	ref := perdure.ContentRef(m.x.id, content)
	m.commit(perdure.Commit{Decisions: []perdure.StoredDecision{{Question: id, WithheldContent: perdure.WithheldContent{SHA256: ref.SHA256, Bytes: ref.Length}}}}, "")
	m.erased[id] = true
}

// end ends the execution. The server then erases the answers to the execution's questions, because
// no worker will read them.
func (m *localMachine) end(*rapid.T) {
	m.commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeComplete}}, "")
	m.x.withdrawOpen()
	for id, q := range m.x.questions {
		m.erased[id] = m.erased[id] || q.status == perdure.QuestionAnswered
	}
	m.ended = true
}

func (m *localMachine) timePasses(t *rapid.T) {
	m.clock.advance(one(t, "time", []time.Duration{time.Second, 3 * time.Second, 2 * time.Minute}))
	m.must(m.e.Sweep(m.ctx))
	m.x.expire(m.now())
}

// comeOrGo connects the worker, or disconnects it.
func (m *localMachine) comeOrGo(*rapid.T) {
	if m.away = !m.away; m.away {
		m.leave()
		m.leave = func() {}
		return
	}
	ctx, cancel := context.WithCancel(m.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = m.d.ServeContents(ctx, m.worker, m.shelf) // it ends with ctx
	}()
	m.leave = func() { cancel(); <-ended }
	for {
		if _, err := m.e.Homes().Source(org, m.worker); err == nil {
			return
		}
	}
}

// look reads a question through the server, as people do, and compares the result with the reference
// model. While the worker is disconnected, neither the content nor an erased answer is shown. If an
// answer was erased before the worker had stored it, that answer is never shown.
func (m *localMachine) look(t *rapid.T) {
	id, ok := m.someQuestion(t, m.x, perdure.Commit{})
	if !ok {
		return
	}
	q, err := m.s.Question(m.ctx, org, id)
	m.must(err)
	lost := q.Answer != nil && q.Answer.Withheld != nil && (m.away || !m.has(q.Answer.Withheld.SHA256))
	m.must(m.e.Questions.Show(m.ctx, org, q))
	if q.OnWorker() != m.away || (q.Prompt == "") != m.away {
		m.Fatalf("the question is shown as %+v, away: %v", q, m.away)
	}
	if q.Status == perdure.QuestionAnswered && (q.Answer.Reason == "so") == lost {
		m.Fatalf("the answer is shown as %+v, lost: %v, erased: %v", q.Answer, lost, m.erased[id])
	}
	details, err := m.e.Questions.Details(m.ctx, q)
	switch {
	case m.away || lost && q.Edited():
		m.code(err, perdure.Unavailable)
	case q.Edited() && q.Status != perdure.QuestionAnswered && q.Status != perdure.QuestionOpen:
		m.code(err, perdure.NotFound) // the contents were erased
	case err != nil || perdure.DetailsHash(q.Kind, q.Subject, details) != m.x.questions[id].hash:
		m.Fatalf("the details are %d bytes, %v", len(details), err)
	}
}

// compare compares the stored questions with the reference model. The server must have no content of
// the questions, and of their answers only the parts that it may keep.
func (m *localMachine) compare() {
	got, err := m.s.Execution(m.ctx, org, m.x.id)
	m.must(err)
	m.compareQuestions(m.x, got)
	page, err := m.s.Questions(m.ctx, org, store.QuestionFilter{ExecutionID: &m.x.id, Limit: 100})
	m.must(err)
	for _, q := range page.Items {
		if q.Prompt != "" || q.Withheld == nil || q.Details != nil && !q.Edited() {
			m.Fatalf("the server has the content of the question: %+v", q)
		}
		keeps := q.Status == perdure.QuestionOpen || q.Status == perdure.QuestionAnswered && !m.erased[q.ID]
		for _, v := range q.Votes {
			if (v.Reason == "so") != keeps || (v.ContentSHA256 == nil) != keeps {
				m.Fatalf("a vote of a question that is %s, erased %v, is %+v", q.Status, m.erased[q.ID], v)
			}
		}
		if q.Edited() && (q.Details != nil) != keeps {
			m.Fatalf("the edited details of a question that is %s, erased %v, are %s", q.Status, m.erased[q.ID], q.Details)
		}
	}
}
