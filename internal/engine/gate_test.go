package engine

import (
	"crypto/sha256"
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
)

// guarded starts an execution of the react agent and claims the execution. The policy of the agent
// allows calls of ls, denies calls of rm, and asks about every other call.
func (b *bench) guarded() *holder {
	b.Helper()
	var p perdure.ApprovalPolicy
	b.must(json.Unmarshal([]byte(`[
		{"tools": ["bash"], "when": {"properties": {"arguments": {"properties": {"command": {"const": "ls"}}}}}, "then": "allow"},
		{"tools": ["bash"], "when": {"properties": {"arguments": {"properties": {"command": {"const": "rm"}}}}}, "then": "deny"},
		{"tools": ["*"], "then": "ask"}
	]`), &p))
	x, err := b.e.Start(b.Context(), org, StartRequest{
		UserPrompt: "go", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "m"}}, Approvals: p,
	})
	b.must(err)
	poll := b.poll(8)
	poll.Kinds = []string{perdure.ReactKind}
	claims, err := b.d.PollAgents(b.Context(), poll)
	b.must(err)
	if len(claims) != 0 {
		b.Fatal("a worker without the feature got the execution")
	}
	poll.Features = perdure.AllFeatures
	claims, err = b.d.PollAgents(b.Context(), poll)
	b.must(err)
	if len(claims) != 1 || claims[0].Lease.ExecutionID != x.ID {
		b.Fatalf("%d executions were claimed", len(claims))
	}
	return &holder{bench: b, claim: claims[0], id: x.ID}
}

// callOf returns a task with the given key that calls the tool bash. The parameter c says what
// permits the call.
func (h *holder) callOf(key, arguments string, c *perdure.Clearance) perdure.NewTask {
	t := perdure.NewTask{
		Kind: "bash", Input: perdure.Inline([]byte(arguments)), InputHash: sha256.Sum256([]byte(arguments)), Clearance: c,
		Options: perdure.TaskOptions{Key: key},
	}
	t.Key = perdure.CallerTaskKey(h.id, t.Kind, key)
	return t
}

// approved asks about a call of the tool bash, answers with the verdict, and returns the question's
// id.
func (h *holder) approved(key, arguments string, verdict perdure.Verdict) uuid.UUID {
	h.Helper()
	hash := perdure.DetailsHash(perdure.QuestionApproval, "bash", []byte(arguments))
	n := perdure.NewQuestion{
		Key: key, Details: json.RawMessage(arguments), DetailsSHA256: hash,
		QuestionTerms: perdure.QuestionTerms{Kind: perdure.QuestionApproval, Subject: "bash"},
	}
	h.commit(func(c *perdure.Commit) { c.Questions = append(c.Questions, n) })
	id := perdure.QuestionID(h.id, key)
	if verdict != "" {
		_, err := h.e.Answer(h.Context(), org, questions.AnswerRequest{Question: id, Verdict: verdict, DetailsSHA256: &hash, Role: perdure.KeyAdmin})
		h.must(err)
	}
	return id
}

// TestTheGateRefusesWhatIsNotCleared checks that calls that an agent's code schedules are refused
// if their clearance (the rule or the approval that permits a call) is missing, wrong, or for a
// different call.
func TestTheGateRefusesWhatIsNotCleared(t *testing.T) {
	b := newBench(t)
	h := b.guarded()
	const touch, other = `{"command":"touch a"}`, `{"command":"touch b"}`
	yes, no, open := h.approved("yes", touch, perdure.VerdictApprove), h.approved("no", touch, perdure.VerdictDeny), h.approved("open", touch, "")
	rule := func(n int) *perdure.Clearance { return &perdure.Clearance{Rule: &n} }
	question := func(id uuid.UUID) *perdure.Clearance { return &perdure.Clearance{Question: &id} }
	for name, task := range map[string]perdure.NewTask{
		"no clearance":             h.callOf("1", `{"command":"ls"}`, nil),
		"an empty clearance":       h.callOf("1", `{"command":"ls"}`, &perdure.Clearance{}),
		"a rule that asks":         h.callOf("1", touch, rule(2)),
		"a rule that denies":       h.callOf("1", `{"command":"rm"}`, rule(1)),
		"a rule that does not fit": h.callOf("1", touch, rule(0)),
		"a number without a rule":  h.callOf("1", touch, rule(-1)),
		"a denied call approved":   h.callOf("1", `{"command":"rm"}`, question(h.approved("rm", `{"command":"rm"}`, perdure.VerdictApprove))),
		"a member twice":           h.callOf("1", `{"command":"rm","command":"ls"}`, rule(0)),
		"a member twice, approved": h.callOf("1", `{"command":"a","command":"b"}`, question(h.approved("twice", `{"command":"a","command":"b"}`, perdure.VerdictApprove))),
		"another spelling":         h.callOf("1", `{"command": "touch a"}`, question(yes)),
		"other arguments":          h.callOf("1", other, question(yes)),
		"an open question":         h.callOf("1", touch, question(open)),
		"a denied question":        h.callOf("1", touch, question(no)),
		"an unknown question":      h.callOf("1", touch, question(uuid.New())),
		"both":                     h.callOf("1", touch, &perdure.Clearance{Rule: rule(0).Rule, Question: &yes}),
	} {
		before := b.snapshot(h.id)
		_, err := h.try(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{task} })
		if !perdure.IsCode(err, perdure.PermissionDenied) {
			t.Errorf("%s: %v", name, err)
		}
		if after := b.snapshot(h.id); after != before {
			t.Errorf("%s: the refused commit changed something", name)
		}
	}
	h.commit(func(c *perdure.Commit) {
		c.Tasks = []perdure.NewTask{h.callOf("ls", `{"command":"ls"}`, rule(0)), h.callOf("touch", touch, question(yes))}
	})
	q, err := b.s.Question(t.Context(), org, yes)
	b.must(err)
	if want := perdure.TaskID(perdure.CallerTaskKey(h.id, "bash", "touch")); q.TaskID == nil || *q.TaskID != want {
		t.Errorf("the question names the task %v, want %s", q.TaskID, want)
	}
	_, err = h.try(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.callOf("again", touch, question(yes))} })
	b.wantCode(err, perdure.PermissionDenied)
	// A function that is entered again schedules the same task once more. A task that was permitted
	// before needs no clearance.
	h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.callOf("touch", touch, nil)} })
}

// TestPoliciesThatCannotBeAreRefused checks that starts are refused if nobody could answer the
// questions of their policy, or if the policy cannot be applied.
func TestPoliciesThatCannotBeAreRefused(t *testing.T) {
	b := newBench(t)
	two := perdure.ApprovalPolicy{{Tools: []string{"*"}, Then: perdure.ApprovalAsk, Needed: 2}}
	models := []perdure.ModelConfig{{Provider: "scripted", ModelID: "m"}}
	for name, r := range map[string]StartRequest{
		"two without keys": {UserPrompt: "x", Models: models, Approvals: two},
		"a schema that is no": {UserPrompt: "x", Models: models, Approvals: perdure.ApprovalPolicy{
			{Tools: []string{"*"}, Then: perdure.ApprovalAsk, When: json.RawMessage(`{"type": 7}`)},
		}},
	} {
		if _, err := b.e.Start(t.Context(), org, r); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := b.e.Definitions.Create(t.Context(), org, perdure.Definition{
		Name: "n", Slug: "n", Models: models, Approvals: perdure.ApprovalPolicy{{Tools: []string{"*"}, Then: "maybe"}},
	})
	b.wantCode(err, perdure.InvalidArgument)
	if _, _, err = b.e.CreateKey(t.Context(), org, "ann", perdure.KeyApprover); err == nil {
		_, err = b.e.Start(t.Context(), org, StartRequest{UserPrompt: "x", Models: models, Approvals: two})
	}
	b.must(err)
}

// TestAStartTightensItsDefinition checks that the policies of the definition and of the start both
// apply.
func TestAStartTightensItsDefinition(t *testing.T) {
	b := newBench(t)
	d, err := b.e.Definitions.Create(t.Context(), org, perdure.Definition{
		Name: "careful", Slug: "careful", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "m"}},
		Approvals: perdure.ApprovalPolicy{{Tools: []string{"bash"}, Then: perdure.ApprovalAsk}},
	})
	b.must(err)
	allow := perdure.ApprovalPolicy{{Tools: []string{"*"}, Then: perdure.ApprovalAllow}}
	x, err := b.e.Start(t.Context(), org, StartRequest{UserPrompt: "x", DefinitionID: &d.ID, Approvals: allow})
	b.must(err)
	if x = b.execution(x.ID); !x.Gate.Guards("bash") || x.Gate.Guards("grep") || x.Gate.Guards(perdure.ModelTaskKind) {
		t.Errorf("the gate is %+v", x.Gate)
	}
	if x.NeedsFeatures.Lacks(perdure.FeatureQuestions) == x.NeedsFeatures {
		t.Error("a worker that knows no questions may claim it")
	}
}

// TestEditsFitTheToolWithoutAPolicy checks a question for an approval that the agent's own code
// asks in an execution without policies. Changed details must fit the schema of the tool that the
// question's subject names.
func TestEditsFitTheToolWithoutAPolicy(t *testing.T) {
	b := newBench(t)
	_, err := b.d.Register(t.Context(), perdure.Registration{WorkerID: uuid.New(), Tasks: []perdure.KindSpec{{
		Kind: "bash", InputSchema: json.RawMessage(`{"type":"object","required":["command"]}`),
	}}})
	b.must(err)
	h := b.started()
	const touch = `{"command":"touch a"}`
	id := h.approvable("open", touch, perdure.EditClient)
	hash := perdure.DetailsHash(perdure.QuestionApproval, "bash", []byte(touch))
	answer := questions.AnswerRequest{Question: id, Verdict: perdure.VerdictApprove, DetailsSHA256: &hash, Role: perdure.KeyAdmin, Details: json.RawMessage(`{}`)}
	_, err = b.e.Answer(t.Context(), org, answer)
	b.wantCode(err, perdure.InvalidArgument)
	answer.Details = json.RawMessage(`{"command":"touch b"}`)
	_, err = b.e.Answer(t.Context(), org, answer)
	b.must(err)
}

// TestEditedCallsAreJudgedAgain checks that arguments that a voter has changed must fit the tool's
// schema and the policies, and that only the changed call may then be scheduled. An approval does not
// count if its question had weaker terms than the rule requires.
func TestEditedCallsAreJudgedAgain(t *testing.T) {
	b := newBench(t)
	var p perdure.ApprovalPolicy
	b.must(json.Unmarshal([]byte(`[
		{"tools": ["bash"], "when": {"properties": {"arguments": {"properties": {"command": {"const": "rm"}}}}}, "then": "deny", "reason": "never"},
		{"tools": ["bash"], "when": {"properties": {"arguments": {"properties": {"command": {"const": "push"}}}}}, "then": "ask", "by": ["admin"]},
		{"tools": ["*"], "then": "ask", "edit": true}
	]`), &p))
	x, err := b.e.Start(t.Context(), org, StartRequest{UserPrompt: "go", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "m"}}, Approvals: p})
	b.must(err)
	_, err = b.d.Register(t.Context(), perdure.Registration{WorkerID: uuid.New(), Tasks: []perdure.KindSpec{{
		Kind: "bash", InputSchema: json.RawMessage(`{"type":"object","required":["command"],"properties":{"command":{"type":"string"}}}`),
	}}})
	b.must(err)
	poll := b.poll(1)
	poll.Kinds, poll.Features = []string{perdure.ReactKind}, perdure.AllFeatures
	claims, err := b.d.PollAgents(t.Context(), poll)
	b.must(err)
	h := &holder{bench: b, claim: claims[0], id: x.ID}
	const ls, list, push = `{"command":"ls"}`, `{"command":"ls -l"}`, `{"command":"push"}`
	call := h.callEntry("call_1", "bash", ls)
	n := perdure.NewQuestion{
		Key: "call_1", EntryID: &call, CallID: "call_1", DetailsSHA256: perdure.DetailsHash(perdure.QuestionApproval, "bash", []byte(ls)),
		QuestionTerms: perdure.QuestionTerms{Kind: perdure.QuestionApproval, Subject: "bash", Edit: perdure.EditClient},
	}
	h.commit(func(c *perdure.Commit) { c.Questions = append(c.Questions, n) })
	id := perdure.QuestionID(h.id, n.Key)
	edit := func(details string) error {
		_, err := b.e.Answer(t.Context(), org, questions.AnswerRequest{
			Question: id, Verdict: perdure.VerdictApprove, DetailsSHA256: &n.DetailsSHA256, Details: json.RawMessage(details), Role: perdure.KeyAdmin,
		})
		return err
	}
	for _, refused := range []string{`{"command":"rm"}`, push, `{"command":1}`, `{}`} {
		if err := edit(refused); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("an edit to %s: %v", refused, err)
		}
	}
	b.must(edit(list))
	for arguments, permitted := range map[string]bool{ls: false, push: false, list: true} {
		_, err := h.try(func(c *perdure.Commit) {
			c.Tasks = []perdure.NewTask{h.callOf("1", arguments, &perdure.Clearance{Question: &id})}
		})
		if (err == nil) != permitted {
			t.Errorf("a task with %s: %v", arguments, err)
		}
	}
	// The worker lets everyone answer this question, but the rule lets only admins answer.
	everyone := h.approved("push", push, perdure.VerdictApprove)
	_, err = h.try(func(c *perdure.Commit) {
		c.Tasks = []perdure.NewTask{h.callOf("2", push, &perdure.Clearance{Question: &everyone})}
	})
	b.wantCode(err, perdure.PermissionDenied)
}

// callEntry appends a model's message with one tool call, and returns the entry's id.
func (h *holder) callEntry(callID, tool, arguments string) uuid.UUID {
	h.Helper()
	return h.say(perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{
		{Type: perdure.PartToolCall, ID: callID, Name: tool, Arguments: json.RawMessage(arguments), RawArguments: arguments},
	}}}, "", "key of "+callID)
}
