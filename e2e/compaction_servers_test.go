package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// TestACompactionOnTwoServersThatAreKilled kills one of two servers and both workers while a summary is
// written. Messages arrive at either server, each of them twice. The test checks that another worker
// writes the summary, that each message is stored once and answered, and that there is one compaction.
func TestACompactionOnTwoServersThatAreKilled(t *testing.T) {
	table := filepath.Join(t.TempDir(), "models.json")
	if err := os.WriteFile(table, []byte(`{"scripted/long": {"window": 16000, "maxOutput": 2000}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFleet(t, chaosSize{
		servers: 2, workers: 2, lease: 1500 * time.Millisecond, plain: []bool{false, true}, env: []string{"PERDURE_MODEL_TABLE=" + table},
	})
	off := true
	f.script("long", "turn\n  text "+strings.Repeat("many words ", 600)+
		strings.Repeat("\nturn\n  text "+strings.Repeat("many words ", 600), 9)+
		"\nsummary\n  pause 2s\n  text ## Goal: count the messages.\n")
	x, err := f.Start(t.Context(), client.StartRequest{
		UserPrompt: "message 0", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "long"}},

		Config: perdure.AgentConfig{Compaction: &perdure.CompactionConfig{Off: &off}},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.idle(x.ID, 1)
	for i := 1; i < 4; i++ {
		f.sayTwice(x.ID, i)
		f.idle(x.ID, i+1)
	}
	if _, err := f.Compact(t.Context(), x.ID, client.CompactRequest{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a summary is asked for", func() bool { return f.calls() == 5 })
	f.sayTwice(x.ID, 4)
	for _, m := range []*member{f.servers[0], f.workers[0], f.workers[1]} {
		m.kill()
	}
	f.sayTwice(x.ID, 5)
	for _, m := range []*member{f.servers[0], f.workers[0], f.workers[1]} {
		f.again(m)
	}
	f.sayTwice(x.ID, 6)
	f.idle(x.ID, 7)
	said, compactions := f.said(x.ID)
	if want := "message 0,message 1,message 2,message 3,message 4,message 5,message 6"; strings.Join(said, ",") != want || compactions != 1 {
		t.Errorf("the messages are %q, with %d compactions", said, compactions)
	}
}

// script writes a script of the scripted provider.
func (f *fleet) script(name, content string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.scripts(), name), []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// calls returns the number of calls that reached the model.
func (f *fleet) calls() int {
	raw, err := os.ReadFile(f.journal())
	if err != nil {
		return 0
	}
	return strings.Count(string(raw), "\n")
}

// sayTwice sends a message to any server, and sends it again with the same id, until both requests
// are answered.
func (f *fleet) sayTwice(id uuid.UUID, n int) {
	f.t.Helper()
	text := fmt.Sprint("message ", n)
	for range 2 {
		eventually(f.t, text+" is taken", func() bool {
			_, err := f.Signal(f.t.Context(), id, client.SignalRequest{Name: perdure.UserMessage, Value: json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)), ID: text})
			return err == nil
		})
	}
}

// idle waits until the run has taken the given number of the user's messages and waits for the next
// one.
func (f *fleet) idle(id uuid.UUID, messages int) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("%d messages are answered", messages), func() bool {
		x, err := f.Get(f.t.Context(), id)
		if err != nil || x.Status != perdure.StatusWaiting || x.WaitReason != "signal" {
			return false
		}
		said, _ := f.said(id)
		return len(said) == messages
	})
}

// said returns the messages of the user on the run's path, and the number of compactions.
func (f *fleet) said(id uuid.UUID) (said []string, compactions int) {
	for e, err := range f.Entries(f.t.Context(), id) {
		if err != nil {
			return nil, 0
		}
		if e.Type == perdure.EntryCompaction {
			compactions++
			continue
		}
		if m, err := e.Message(); err == nil && m.Role == perdure.RoleUser {
			said = append(said, m.PlainText())
		}
	}
	return said, compactions
}
