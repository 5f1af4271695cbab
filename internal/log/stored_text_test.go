package log

import (
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestStoredFieldsAreServedAsUTF8 checks stored fields with invalid UTF-8, as an older server could
// store them. Clients receive U+FFFD in place of the invalid bytes.
func TestStoredFieldsAreServedAsUTF8(t *testing.T) {
	r := perdure.Record{Seq: 1, Type: perdure.EventSignal, Fields: []byte("{\"signalValue\":\"a\xff\"}")}
	item, err := RecordItem(r, uuid.Nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"seq":1,"agentExecutionId":"00000000-0000-0000-0000-000000000000","createdAt":"0001-01-01T00:00:00.000Z","signalValue":"a�"}`; string(item.Data()) != want {
		t.Errorf("it is %s; want %s", item.Data(), want)
	}
}
