package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

const everything = `turn
  usage in=350 out=10 cacheRead=5 cacheWrite=7
  thinking I look around.
  text I will look around.
  call bash {"command": "printf 'a\\377b\\303\\251'; printf 'to stderr' >&2"}
  call read-file {"path": "note.txt"}
  call write-file {"path": "made.txt", "content": "one\n"}
turn
  text All done.
`

// TestRunOverREST checks what REST returns about a completed run of the react agent: output, entries, tasks
// and log.
func TestRunOverREST(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "s", everything)
	write(t, dir, "note.txt", "a note\n")
	s := serveDev(t, dir)
	at := s.start(`{"userPrompt":"do it","systemPrompt":"Be kind.","oneShot":true,"models":[{"provider":"scripted","modelId":"s"}],"tools":["bash","read-file","write-file"]}`)
	log := s.logged(at)
	t.Run("output", func(t *testing.T) { checkOutput(t, s, at) })
	t.Run("entries", func(t *testing.T) { checkEntries(t, s, at) })
	t.Run("tasks", func(t *testing.T) { checkTasks(t, s, at) })
	t.Run("calls", func(t *testing.T) { checkCalls(t, log) })
	t.Run("terminal", func(t *testing.T) { checkTerminal(t, log) })
	t.Run("first commit", func(t *testing.T) { checkFirstCommit(t, log) })
}

func membersOf(object map[string]any) string {
	return strings.Join(slices.Sorted(maps.Keys(object)), " ")
}

const usageMembers = "cacheRead cacheWrite calls cost input output reasoning totalTokens"

func checkOutput(t *testing.T, s *devServer, at string) {
	var x struct {
		Status string
		Output map[string]any
	}
	s.get(at, &x)
	used, _ := x.Output["usageByModel"].(map[string]any)
	of, _ := used["scripted/s"].(map[string]any)
	if x.Status != "COMPLETED" || membersOf(x.Output) != "stopReason text usageByModel" || x.Output["text"] != "All done." || x.Output["stopReason"] != "end_turn" {
		t.Errorf("the output of the %s run is %v", x.Status, x.Output)
	}
	if len(used) != 1 || membersOf(of) != usageMembers || of["calls"] != 2.0 || of["cacheRead"] != 5.0 || of["cacheWrite"] != 7.0 {
		t.Errorf("usage is %v", used)
	}
	var c struct{ Metadata map[string]any }
	s.get(at+"/checkpoints/latest", &c)
	if c.Metadata["checkpoint_reason"] == nil || c.Metadata["entry_count"] != 8.0 {
		t.Errorf("the checkpoint says %v", c.Metadata)
	}
}

// wireEntry is the part of an entry that this test reads.
type wireEntry struct {
	ID        string
	ParentID  *string
	EntryType string
	Role      *string
	Content   struct {
		Parts           []map[string]any
		Provider, Model string
		Usage           map[string]any
		StopReason      string
	}
	Metadata map[string]any
}

func checkEntries(t *testing.T, s *devServer, at string) {
	var path, all struct{ Items []wireEntry }
	s.get(at+"/entries", &path)
	s.get(at+"/entries?all=true", &all)
	var roles []string
	for i, e := range path.Items {
		roles = append(roles, *e.Role)
		if i == 0 && e.ParentID != nil || i > 0 && (e.ParentID == nil || *e.ParentID != path.Items[i-1].ID) {
			t.Errorf("entry %d hangs on %v", i, e.ParentID)
		}
	}
	// The transcript has no entry for the system prompt, and one result entry for each tool call.
	if got := strings.Join(roles, " "); got != "user assistant tool_result tool_result tool_result assistant" {
		t.Fatalf("the path is %s", got)
	}
	said := path.Items[1]
	var calls, results []string
	for _, p := range said.Content.Parts {
		if p["type"] == "toolCall" {
			calls = append(calls, fmt.Sprint(p["id"], " ", p["name"]))
			if p["arguments"] == nil || p["rawArguments"] == nil {
				t.Errorf("a call is %v", p)
			}
		}
	}
	for _, e := range path.Items[2:5] {
		for _, p := range e.Content.Parts {
			results = append(results, fmt.Sprint(p["toolCallId"], " ", p["toolName"]))
			if membersOf(p) != "isError parts toolCallId toolName type" || p["isError"] != false {
				t.Errorf("a result is %v", p)
			}
		}
	}
	if !slices.Equal(calls, results) || len(calls) != 3 {
		t.Errorf("the calls %v have the results %v", calls, results)
	}
	if said.Content.Provider != "scripted" || said.Content.Model != "s" || said.Content.StopReason != "tool_use" || membersOf(said.Content.Usage) != usageMembers {
		t.Errorf("the answer says %+v", said.Content)
	}
	beside := 0
	for _, e := range all.Items {
		if e.EntryType != "llm_call" {
			continue
		}
		usage, _ := e.Metadata["usage"].(map[string]any)
		parent := slices.IndexFunc(path.Items, func(p wireEntry) bool { return p.ID == *e.ParentID })
		if parent < 0 || *path.Items[parent].Role != "assistant" || e.Role != nil || membersOf(usage) != usageMembers {
			t.Errorf("the record of a model call is %+v", e)
		}
		beside++
	}
	if beside != 2 || len(all.Items) != len(path.Items)+2 {
		t.Errorf("%d records among %d entries", beside, len(all.Items))
	}
}

func checkTasks(t *testing.T, s *devServer, at string) {
	var tasks struct {
		Items []struct{ Kind, Status string }
	}
	s.get(at+"/tasks", &tasks)
	var kinds []string
	for _, task := range tasks.Items {
		kinds = append(kinds, task.Kind)
		if task.Status != "COMPLETED" {
			t.Errorf("%s is %s", task.Kind, task.Status)
		}
	}
	// Each of the two turns makes one model call.
	if slices.Sort(kinds); strings.Join(kinds, " ") != "bash llm-request llm-request read-file write-file" {
		t.Errorf("the tasks are %v", kinds)
	}
}

// checkCalls checks the events about tool calls in the log. Each call has one start event, then
// events with pieces of its arguments, and then one end event. The end event has the result. Its
// time equals the time of the entry with the result, because one commit writes the event and the
// entry. checkCalls also checks the events about files.
func checkCalls(t *testing.T, log []logRecord) {
	stages := map[string][]string{}
	stored := map[any]any{}
	var said []string
	for _, e := range log {
		call, _ := e.dataOf()["tool_call"].(map[string]any)
		id, _ := call["id"].(string)
		switch kind := e.dataOf()["type"]; kind {
		case "tool_call_start":
			stages[id] = append(stages[id], fmt.Sprint("start ", call["name"]))
		case "tool_call_delta":
			if len(stages[id]) == 1 {
				stages[id] = append(stages[id], "delta")
			}
		case "tool_call_end":
			result, _ := e.dataOf()["result"].(map[string]any)
			if result["isError"] != false || stored[id] != e.data["createdAt"] {
				t.Errorf("the end at %v of a result that was stored at %v: %v", e.data["createdAt"], stored[id], e.data)
			}
			stages[id] = append(stages[id], "end")
		case "file_read", "file_write", "artifact":
			said = append(said, fmt.Sprint(kind, " ", e.dataOf()["path"], " ", e.dataOf()["action"]))
		}
		if e.event == "entry.appended" && e.data["role"] == "tool_result" {
			stored[e.data["toolCallId"]] = e.data["createdAt"]
		}
	}
	for id, names := range stages {
		if len(names) != 3 || !strings.HasPrefix(names[0], "start ") || names[1] != "delta" || names[2] != "end" {
			t.Errorf("the call %s goes %v", id, names)
		}
	}
	if len(stages) != 3 {
		t.Errorf("%d calls are in the log", len(stages))
	}
	if slices.Sort(said); strings.Join(said, ", ") != "artifact made.txt created, file_read note.txt <nil>, file_write made.txt <nil>" {
		t.Errorf("of files it says %v", said)
	}
}

// checkTerminal checks the events with the output of the bash command. Invalid UTF-8 in the output
// was replaced before offsets and lengths were counted. Each output stream is one block, whose
// pieces come in order.
func checkTerminal(t *testing.T, log []logRecord) {
	text, lengths, blocks := map[any]string{}, map[any]any{}, map[any]map[any]bool{}
	for _, e := range log {
		if e.event == "block.closed" {
			lengths[e.data["blockSeq"]] = e.data["length"]
		}
		if e.event != "terminal" {
			continue
		}
		stream := e.data["stream"]
		if int(e.data["offset"].(float64)) != len(text[stream]) {
			t.Errorf("a piece of %v at %v: %d bytes came before", stream, e.data["offset"], len(text[stream]))
		}
		text[stream] += e.data["data"].(string)
		if blocks[stream] == nil {
			blocks[stream] = map[any]bool{}
		}
		blocks[stream][e.data["seq"]] = true
	}
	if text["stdout"] != "a\uFFFDbéto stderr" || len(text) != 1 {
		t.Errorf("the terminal showed %q", text)
	}
	for stream, seqs := range blocks {
		for seq := range seqs {
			if len(seqs) != 1 || lengths[seq] != float64(len(text[stream])) {
				t.Errorf("%v is in %d blocks, the length is %v", stream, len(seqs), lengths[seq])
			}
		}
	}
}

// checkFirstCommit checks that the log begins with the user's message as the first entry, and that
// the commit that stores this message also schedules the model call.
func checkFirstCommit(t *testing.T, log []logRecord) {
	var names []string
	for _, e := range log[:4] {
		names = append(names, e.event)
	}
	if strings.Join(names, " ") != "agent.created agent.started entry.appended task.scheduled" || log[2].data["role"] != "user" ||
		log[2].data["createdAt"] != log[3].data["createdAt"] {
		t.Errorf("it begins with %v", log[:4])
	}
}

// TestStopReasonsOverREST checks that the stop reason of a response is one of a fixed set of words, in
// the output of a run and in its log.
func TestStopReasonsOverREST(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	const call = "turn\n  call find {\"pattern\": \"*\"}\n"
	for name, script := range map[string]string{
		"end_turn": "turn\n  text x\n", "max_tokens": "turn\n  text x\n  stop max_tokens\n",
		"context_length": "turn\n  text x\n  stop context_length\n", "refusal": "turn\n  text x\n  stop refusal\n",
		"turn_limit": call + call, "error": "turn\n  fail refused no\n", "cancelled": "turn\n  text x\n  pause 1h\n",
	} {
		write(t, dir, name, script)
	}
	s := serveDev(t, dir)
	ends := func(at string) logRecord {
		log := s.logTo(at, func(e logRecord) bool { return e.dataOf()["type"] == "response_end" })
		return log[len(log)-1]
	}
	for _, reason := range []string{"end_turn", "max_tokens", "context_length", "refusal", "turn_limit"} {
		at := s.start(`{"userPrompt":"go","oneShot":true,"models":[{"provider":"scripted","modelId":"` + reason + `"}],"tools":["find"],"config":{"maxTurns":1}}`)
		if got := ends(at).dataOf()["stopReason"]; got != reason {
			t.Errorf("%s is told as %v", reason, got)
		}
		s.logged(at)
		var x struct{ Output struct{ StopReason string } }
		if s.get(at, &x); x.Output.StopReason != reason {
			t.Errorf("%s is put out as %s", reason, x.Output.StopReason)
		}
	}
	failed := ends(s.start(`{"userPrompt":"go","models":[{"provider":"scripted","modelId":"error"}]}`))
	if failed.dataOf()["stopReason"] != "error" || failed.dataOf()["error"] == nil {
		t.Errorf("an error is told as %v", failed.data)
	}
	// The command perdure resume also reports the stop reason of a cancelled run.
	at := s.start(`{"userPrompt":"go","models":[{"provider":"scripted","modelId":"cancelled"}]}`)
	s.logTo(at, func(e logRecord) bool { return e.event == "token" })
	s.ask("DELETE", at, "", 202)
	s.logged(at)
	launch(t, dir, "resume", strings.TrimPrefix(at, "/agent-executions/"), "--json").wantEnd(3, `"stopReason":"cancelled"`)
}
