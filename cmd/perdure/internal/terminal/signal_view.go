package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/perdure/perdure"
)

// Signals are the newest signals of a run.
type Signals struct {
	Newest  []*perdure.Signal
	Earlier int // number of signals before the newest ones
	// Local reports that the run is LOCAL. The server then returns no values of signals.
	Local bool
	// Ended reports that the run has ended. The run then takes no more signals.
	Ended bool
}

// Signals shows signals, and whether the run has taken them.
func (v *TextView) Signals(s Signals) {
	if len(s.Newest) == 0 {
		return
	}
	v.p.section("signals")
	if s.Earlier > 0 {
		v.p.line(StyleDim, "… "+count(s.Earlier, "earlier signal")+"; --json shows all")
	}
	for _, one := range s.Newest {
		state, style := "taken", StyleNone
		if one.State == perdure.SignalPending {
			state, style = "not taken yet", StyleWarn
		}
		if one.State == perdure.SignalPending && s.Ended {
			state, style = "not taken", StyleDim
		}
		facts := []string{"signal " + Inline(one.Name), state, one.CreatedAt.Local().Format(TimeFormat)}
		if value := signalValue(one.Value, one.ValueBytes, s.Local); value != "" {
			facts = append(facts, value)
		}
		v.p.hanging(style, strings.Join(facts, " · "))
	}
}

// signalValue returns the beginning of a value in one line, "" for null. `leftOut` is the size of a
// value that the server left out.
func signalValue(value json.RawMessage, leftOut int64, local bool) string {
	const most = 400
	switch {
	case local:
		return ContentOnWorkerText
	case leftOut > 0:
		return fmt.Sprintf("(a value of %s)", Bytes(leftOut))
	case len(value) == 0 || string(value) == "null":
		return ""
	}
	var dense bytes.Buffer
	text := string(value)
	if json.Compact(&dense, value) == nil {
		text = dense.String()
	}
	if len(text) <= most {
		return Inline(Clean(text))
	}
	return Inline(Clean(strings.ToValidUTF8(text[:most], ""))) + fmt.Sprintf("… (%s)", Bytes(int64(len(text))))
}
