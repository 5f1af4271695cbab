package scripted

import (
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// script is a parsed script.
type script struct {
	pace  time.Duration
	turns []turn
	// summary is played, in place of a turn, if a request asks for a summary; nil if the script has
	// none.
	summary *turn
}

// turn is a turn of a script. Its common steps are always played; of its alternatives, at most one
// is played.
type turn struct {
	line         int
	common       []step
	alternatives []alternative
}

type alternative struct {
	when  string // "" means the alternative of the word else
	steps []step
}

// steps returns the steps to play. The parameter `fresh` is the text of the messages since the last
// answer. The bool is false if no alternative fits that text.
func (t turn) steps(fresh string) ([]step, bool) {
	if len(t.alternatives) == 0 {
		return t.common, true
	}
	var otherwise *alternative
	for i, a := range t.alternatives {
		if a.when == "" {
			otherwise = &t.alternatives[i]
		} else if strings.Contains(fresh, a.when) {
			return concat(t.common, a.steps), true
		}
	}
	if otherwise == nil {
		return nil, false
	}
	return concat(t.common, otherwise.steps), true
}

func concat(a, b []step) []step { return append(append([]step(nil), a...), b...) }

// step is one line of a turn. Its word determines which other fields are used.
type step struct {
	word     string
	text     string // text, thinking, expect; the arguments of a call; the message of a failure
	name     string // name of the tool in a call
	duration time.Duration
	stop     perdure.StopReason
	usage    perdure.Usage
	kind     llm.ErrorKind
}
