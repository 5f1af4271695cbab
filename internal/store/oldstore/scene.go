package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/server"
)

// scene is a server whose store is being filled. After the first error, its methods do nothing.
type scene struct {
	*server.Server
	org    string
	worker uuid.UUID
	stop   func() error
	doomed uuid.UUID // id of the execution that is marked as being deleted at the end

	ctx    context.Context
	key    string // API key of an admin
	keyID  uuid.UUID
	client *client.Client
	err    error
}

func (s *scene) do(err error) {
	if s.err == nil {
		s.err = err
	}
}

// play stores data of each kind by calls of the server. It returns the first error.
func (s *scene) play(ctx context.Context) error {
	s.ctx = ctx
	s.access()
	if s.err != nil {
		return s.err
	}
	defer s.client.Close()
	for _, act := range []func(){s.register, s.definitions, s.conversations, s.streams, s.webhooks, s.runs, s.many} {
		if act(); s.err != nil {
			return s.err
		}
	}
	return nil
}

// access creates orgs, keys and a session.
func (s *scene) access() {
	for _, role := range []perdure.KeyRole{perdure.KeyAdmin, perdure.KeyClient, perdure.KeyWorker} {
		key, secret, err := s.CreateKey(s.ctx, s.org, "a key of role "+string(role), role)
		s.do(err)
		if role == perdure.KeyAdmin {
			s.key, s.keyID = secret, key.ID
		}
	}
	if s.err != nil {
		return
	}
	c, err := client.New(client.Options{BaseURL: "http://" + s.HTTPAddress(), Org: s.org, Key: s.key})
	s.do(err)
	s.client = c
	s.ask("POST", "/api/login", `{"key":"`+s.key+`"}`, nil)
	keep := 365 * perdure.Day
	_, err = c.SetRetention(s.ctx, perdure.Retention{Executions: &keep})
	s.do(err)
}

func (s *scene) register() {
	_, err := s.Dispatch(s.org).Register(s.ctx, perdure.Registration{
		WorkerID: s.worker, Queues: []string{"default"},
		Agents: []perdure.KindSpec{
			{Kind: "agent", Description: "An agent.", Endpoints: []perdure.ModelEndpoint{{Origin: "https://models.example.com:443"}}},
			{Kind: perdure.ReactKind, Providers: []string{"scripted"}},
		},
		Tasks: []perdure.KindSpec{{Kind: "work", InputSchema: json.RawMessage(`{"type":"string"}`)}},
	})
	s.do(err)
}

func (s *scene) definitions() {
	var made struct{ ID string }
	s.ask("POST", "/api/orgs/"+s.org+"/agent-definitions", `{"name":"Writer","slug":"writer","systemPrompt":"You write.",
		"models":[{"provider":"scripted","modelId":"m"}],"retention":{"executions":"365d","logs":"365d"},"metadata":{"team":"ä 😀"}}`, &made)
	s.ask("POST", "/api/orgs/"+s.org+"/agent-executions", `{"agentDefinitionId":"`+made.ID+`","userPrompt":"Write."}`, nil)
}

func (s *scene) conversations() {
	s.ask("POST", "/v1/responses", `{"model":"scripted/m","input":"Hello","background":true}`, nil)
	var made struct{ ID string }
	s.ask("POST", "/v1/conversations", `{"metadata":{"k":"v"},"items":[{"role":"user","content":"Hello"}]}`, &made)
	s.ask("POST", "/v1/responses", `{"model":"scripted/m","conversation":"`+made.ID+`","input":"And?","background":true}`, nil)
	s.ask("POST", "/v1/conversations", `{"items":[{"role":"user","content":"Hello"}]}`, nil)
}

func (s *scene) streams() {
	s.ask("PUT", "/v1/stream/lines", "one\n", nil, "Content-Type", "text/plain")
	s.ask("POST", "/v1/stream/lines", "two\n", nil, "Content-Type", "text/plain", "Producer-Id", "p", "Producer-Epoch", "0", "Producer-Seq", "0")
}

// webhooks creates a webhook that cannot be reached, events for it, and a paused queue.
func (s *scene) webhooks() {
	var made struct{ ID string }
	s.ask("POST", "/api/orgs/"+s.org+"/webhooks", `{"url":"https://127.0.0.1:1/hook","events":["*"],"description":"ä 😀","keyId":"`+s.keyID.String()+`"}`, &made)
	s.ask("POST", "/api/orgs/"+s.org+"/webhooks/"+made.ID+"/rotate", ``, nil)
	s.ask("POST", "/api/orgs/"+s.org+"/webhooks/"+made.ID+"/test", ``, nil)
	s.ask("POST", "/api/orgs/"+s.org+"/queues/pause", `{"queue":"ä 😀"}`, nil)
}

// runs starts four executions with data of each kind. One is running, one is waiting, and two have
// ended; one of these two will be deleted.
func (s *scene) runs() {
	open := s.claim("open")
	s.upload(open.ExecutionID)
	s.talk(open)
	s.speak(open)
	waiting := s.claim("waiting")
	s.suspend(waiting)
	ended := s.claim("ended")
	s.speak(ended)
	s.complete(ended)
	doomed := s.claim("doomed")
	s.speak(doomed)
	s.complete(doomed)
	s.doomed = doomed.ExecutionID
}

// many starts enough executions to fill a whole block of the text index (256 executions).
func (s *scene) many() {
	for n := range 270 {
		if s.err == nil {
			_, err := s.client.Start(s.ctx, client.StartRequest{Kind: "agent", Input: json.RawMessage(fmt.Sprintf(`"input %d"`, n)), Queue: "later"})
			s.do(err)
		}
	}
}

// claim starts an execution and claims it.
func (s *scene) claim(name string) perdure.Lease {
	if s.err != nil {
		return perdure.Lease{}
	}
	_, err := s.client.Start(s.ctx, client.StartRequest{
		Kind: "agent", Input: json.RawMessage(`"` + name + `"`), Metadata: json.RawMessage(`{"name":"` + name + `","n":1}`), IdempotencyKey: name,
	})
	s.do(err)
	if s.err != nil {
		return perdure.Lease{}
	}
	claims, err := s.Dispatch(s.org).PollAgents(s.ctx, perdure.Poll{WorkerID: s.worker, Queues: []string{"default"}, Kinds: []string{"agent"}, Slots: 1, Wait: time.Minute})
	if err == nil && len(claims) != 1 {
		err = fmt.Errorf("%d claims of %s", len(claims), name)
	}
	s.do(err)
	if err != nil {
		return perdure.Lease{}
	}
	return claims[0].Lease
}

func (s *scene) commit(c perdure.Commit) {
	if s.err == nil {
		_, err := s.Dispatch(s.org).Commit(s.ctx, c)
		s.do(err)
	}
}

// talk commits a conversation tree with a branch and a compaction, a step, questions, tasks and
// checkpoints. One task is running, another one is waiting.
func (s *scene) talk(lease perdure.Lease) {
	first, one, other := message("Hello"), message("One branch"), message("Another branch")
	one.ParentID, other.ParentID = &first.ID, &first.ID
	state := perdure.Inline([]byte(`{"n":1}`))
	s.commit(perdure.Commit{
		Lease: lease, Number: 1, Entries: []perdure.NewEntry{{Entry: first}, {Entry: one}},
		Tasks:      []perdure.NewTask{work(lease, "task one"), work(lease, "task two")},
		Steps:      []perdure.StepRecord{{Name: "step", Key: perdure.StepKey(lease.ExecutionID, "step", ""), Result: perdure.Inline([]byte(`1`))}},
		Checkpoint: &perdure.NewCheckpoint{State: state, Reason: "r"},
	})
	s.commit(perdure.Commit{
		Lease: lease, Number: 2, Entries: []perdure.NewEntry{{Entry: other}},
		Checkpoint: &perdure.NewCheckpoint{State: state, Reason: "r", StateVersion: 2},
	})
	s.commit(perdure.Commit{Lease: lease, Number: 3, Questions: []perdure.NewQuestion{question("open"), question("gone"), approval("granted")}})
	s.grant(perdure.QuestionID(lease.ExecutionID, "granted"))
	s.ask("POST", "/api/orgs/"+s.org+"/questions/"+perdure.QuestionID(lease.ExecutionID, "open").String()+"/links", `{"keyId":"`+s.keyID.String()+`"}`, nil)
	s.commit(perdure.Commit{Lease: lease, Number: 4, Withdraw: []uuid.UUID{perdure.QuestionID(lease.ExecutionID, "gone")}})
	summary := compaction(first.ID, other.ID)
	summary.ParentID = &other.ID
	s.commit(perdure.Commit{Lease: lease, Number: 5, Entries: []perdure.NewEntry{{Entry: summary}}})
	if s.err != nil {
		return
	}
	_, err := s.Dispatch(s.org).PollTasks(s.ctx, perdure.Poll{WorkerID: s.worker, Queues: []string{"default"}, Kinds: []string{"work"}, Slots: 1, Wait: time.Minute})
	s.do(err)
}

func work(lease perdure.Lease, text string) perdure.NewTask {
	input := []byte(`"` + text + `"`)
	// The error is always nil, because the input is valid JSON.
	key, _ := perdure.DefaultTaskKey(lease.ExecutionID, "work", input, "")
	return perdure.NewTask{Kind: "work", Input: perdure.Inline(input), InputHash: sha256.Sum256(input), Key: key}
}

// question returns a question with two choices that expires.
func question(key string) perdure.NewQuestion {
	n := perdure.NewQuestion{Key: key, Details: json.RawMessage(`{"why":"ä 😀"}`), ExpiresAfter: 1000 * time.Hour}
	n.Kind, n.Subject, n.Prompt = perdure.QuestionChoice, "subject", "This or that?"
	n.Choices = []perdure.QuestionOption{{Value: "this"}, {Value: "that"}}
	n.DetailsSHA256 = perdure.DetailsHash(n.Kind, n.Subject, n.Details)
	return n
}

// approval returns a question that asks whether a tool may run.
func approval(key string) perdure.NewQuestion {
	n := perdure.NewQuestion{Key: key, Details: json.RawMessage(`{"command":"ls"}`)}
	n.Kind, n.Subject = perdure.QuestionApproval, "bash"
	n.DetailsSHA256 = perdure.DetailsHash(n.Kind, n.Subject, n.Details)
	return n
}

// grant approves a question in such a way that an approval grant is stored.
func (s *scene) grant(question uuid.UUID) {
	if s.err != nil {
		return
	}
	shown := approval("").DetailsSHA256
	_, err := s.client.Answer(s.ctx, question, client.AnswerRequest{
		Verdict: perdure.VerdictApprove, DetailsSHA256: &shown, Remember: &perdure.Remember{Scope: perdure.GrantRun, Match: perdure.GrantExact},
	})
	s.do(err)
}

func message(text string) perdure.Entry {
	e, err := perdure.NewMessageEntry(perdure.UserText(text))
	if err != nil {
		panic(err) // texts can always be encoded
	}
	return e
}

// compaction returns a compaction of the conversation. It covers the entries up to `last`, and keeps
// the entries from `keepFrom` on.
func compaction(last, keepFrom uuid.UUID) perdure.Entry {
	e, err := perdure.NewMessageEntry(perdure.Message{
		Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{perdure.Compaction("The user says hello.")}},
	})
	if err != nil {
		panic(err) // texts can always be encoded
	}
	e.Type = perdure.EntryCompaction
	e.Metadata, err = json.Marshal(perdure.CompactionRecord{
		Last: last, KeepFrom: &keepFrom, Pinned: []uuid.UUID{last}, Reason: perdure.CompactionManual, Messages: 1, TokensBefore: 10, TokensAfter: 5,
	})
	if err != nil {
		panic(err) // ids, texts and numbers can always be encoded
	}
	return e
}

// speak appends a closed block, an open block and an event to the log.
func (s *scene) speak(lease perdure.Lease) {
	if s.err != nil {
		return
	}
	replies, err := s.Dispatch(s.org).Append(s.ctx, []perdure.Frame{
		{AgentLease: &lease, Block: 0, Type: perdure.EventToken, Text: "Hello, "},
		{AgentLease: &lease, Block: 0, Type: perdure.EventToken, Offset: 7, Text: "world", Close: true},
		{AgentLease: &lease, Block: 1, Type: perdure.EventToken, Text: "and "},
		{AgentLease: &lease, Block: 2, Type: perdure.EventData, Fields: json.RawMessage(`{"data":{}}`)},
	})
	s.do(err)
	for _, r := range replies {
		if r.Err != nil {
			s.do(r.Err)
		}
	}
}

func (s *scene) suspend(lease perdure.Lease) {
	wait := perdure.WaitAny(perdure.WaitSignal("go"), perdure.WaitAfter("patience", 1000*time.Hour))
	s.commit(perdure.Commit{Lease: lease, Number: 1, Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait}})
	s.ask("POST", "/api/orgs/"+s.org+"/agent-executions/"+lease.ExecutionID.String()+"/signal", `{"signalName":"stop","signalValue":{"now":true}}`, nil)
}

func (s *scene) complete(lease perdure.Lease) {
	s.commit(perdure.Commit{
		Lease: lease, Number: 1, Entries: []perdure.NewEntry{{Entry: message("The end")}},
		Outcome: perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline([]byte(`"done"`))},
	})
}

// upload stores a content that is too large for a row, and a signal that refers to it.
func (s *scene) upload(id uuid.UUID) {
	var ref struct{ BlobID string }
	at := "/api/orgs/" + s.org + "/agent-executions/" + id.String()
	s.ask("PUT", at+"/content", `"`+strings.Repeat("large ", 20_000)+`"`, &ref)
	s.ask("POST", at+"/signal", `{"signalName":"large","signalValueRef":{"blobId":"`+ref.BlobID+`"}}`, nil)
}

// ask sends a request with the admin's key. It must succeed.
func (s *scene) ask(method, path, body string, into any, headers ...string) {
	if s.err != nil {
		return
	}
	req, err := http.NewRequestWithContext(s.ctx, method, "http://"+s.HTTPAddress()+path, strings.NewReader(body))
	if err != nil {
		s.do(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.do(err)
		return
	}
	defer res.Body.Close() //nolint:errcheck // it was only read
	var answer bytes.Buffer
	_, err = io.Copy(&answer, res.Body)
	s.do(err)
	if res.StatusCode >= 300 {
		s.do(fmt.Errorf("%s %s: %s %s", method, path, res.Status, answer.String()))
	} else if into != nil && s.err == nil {
		s.do(json.Unmarshal(answer.Bytes(), into))
	}
}
