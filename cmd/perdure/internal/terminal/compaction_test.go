package terminal

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

const compactionMetadata = `{"last":"01a20a94-2bbd-7a88-a7c5-40f58df789d4","keepFrom":null,"pinned":[],"reason":"manual","messages":48,"tokensBefore":112000,"tokensAfter":4000}`

// TestACompactionIsADivider checks that a compaction is shown as a divider, and not as a message of the
// user.
func TestACompactionIsADivider(t *testing.T) {
	got := shown(t, `entry.appended {"id":"01a20a94-2bbf-7769-a8f9-c41471895b71","role":"user","entryType":"compaction","metadata":`+
		compactionMetadata+`,"content":{"parts":[{"type":"compaction","text":"a summary"}]}}`)
	if !strings.Contains(got, "── 48 messages summarized, 112 k → 4.0 k tokens ──") || strings.Contains(got, "›") || strings.Contains(got, "a summary") {
		t.Errorf("shown is %q", got)
	}
}

// TestAWholeCompactionHasItsSummary checks that perdure show prints the summary under the divider,
// without control characters.
func TestAWholeCompactionHasItsSummary(t *testing.T) {
	var out bytes.Buffer
	v := NewTextView(Streams{Stdout: NewScreen(&out)}, "")
	e := perdure.Entry{
		ID: uuid.New(), Type: perdure.EntryCompaction, Role: perdure.RoleUser, Metadata: json.RawMessage(compactionMetadata),
		Content: json.RawMessage(`{"parts":[{"type":"compaction","text":"one\ntwo \u001b[2J"}]}`),
	}
	if err := v.Entry(e); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"── 48 messages summarized, 112 k → 4.0 k tokens ──\n", "│ one\n", "│ two"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %q", want, &out)
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("shown is %q", &out)
	}
}
