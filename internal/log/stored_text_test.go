package log

import (
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestStoredFieldsAreServedAsUTF8 checks that fields that an older server stored with bytes that
// are not UTF-8 are served with U+FFFD in their place.
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
