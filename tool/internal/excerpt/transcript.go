// Package excerpt prepares the output of commands and the content of files for a model: as valid UTF-8
// of limited length.
package excerpt

import "sync"

// Transcript collects the output of both streams of a command in the order in which it arrives. If
// the output is long, only its beginning and its end are stored.
type Transcript struct {
	mu   sync.Mutex // also held while live is called, so that calls of live never overlap
	kept ends
}

// NewTranscript returns a transcript that keeps at most limit bytes.
func NewTranscript(limit int) *Transcript { return &Transcript{kept: ends{limit: limit}} }

// String returns the collected text. If a part was omitted, a note says how many bytes.
func (t *Transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept.String()
}

// Stream is one of the output streams of a command.
type Stream struct {
	t    *Transcript
	text decoder
	live func([]byte)
}

// Stream returns a writer for one output stream of the command. The writer adds what is written to
// the transcript, as valid UTF-8. The function `live`, if not nil, is called with each text that is
// added.
func (t *Transcript) Stream(live func([]byte)) *Stream { return &Stream{t: t, live: live} }

// Write adds bytes of the stream. It never returns an error.
func (s *Stream) Write(p []byte) (int, error) {
	s.add(s.text.push(p))
	return len(p), nil
}

// Close ends the stream. An unfinished character at the end becomes replacement characters.
func (s *Stream) Close() error {
	s.add(s.text.flush())
	return nil
}

func (s *Stream) add(text []byte) {
	if len(text) == 0 {
		return
	}
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	_, _ = s.t.kept.Write(text) // a write to memory never fails
	if s.live != nil {
		s.live(text)
	}
}
