package eventlog

import (
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Fields that an older server stored with bytes that are not UTF-8 are served with U+FFFD in their
// place.
func TestStoredFieldsAreServedAsUTF8(t *testing.T) {
	r := perdure.Record{Seq: 1, Type: perdure.EventSignal, Fields: []byte("{\"signalValue\":\"a\xff\"}")}
	data, err := Data(r, uuid.Nil)
	if want := `{"seq":1,"agentExecutionId":"00000000-0000-0000-0000-000000000000","createdAt":"0001-01-01T00:00:00.000Z","signalValue":"a�"}`; err != nil || string(data) != want {
		t.Errorf("it is %s, %v; want %s", data, err, want)
	}
}
