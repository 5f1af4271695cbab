package markdown

import (
	"maps"
	"slices"
)

// StreamBuffer is a Buffer for several texts that arrive at the same time, with other events of
// type T in between, such as tool calls. An event that arrives inside a list, table or code block
// is emitted after the end of that block. Any other event ends the open paragraphs, and is emitted
// after these paragraphs. All other output is in the order of arrival.
type StreamBuffer[T any] struct {
	part    func(key int64, p Part)
	event   func(T)
	texts   map[int64]*streamText // open texts by key
	waiting []T
}

// streamText is an open text.
type streamText struct {
	*Buffer
	grown bool // the text has grown since it was last shown
}

// NewStreamBuffer creates a StreamBuffer that emits its output, in order, by calling two functions.
// The function `part` receives each part of a text and the key of that text. The function `event`
// receives each event that is not text.
func NewStreamBuffer[T any](part func(key int64, p Part), event func(T)) *StreamBuffer[T] {
	return &StreamBuffer[T]{part: part, event: event, texts: map[int64]*streamText{}}
}

// Text adds a chunk to the text with the key. `seq` is the seq of the event that contained the
// chunk.
func (s *StreamBuffer[T]) Text(key, seq int64, chunk string) {
	t := s.open(key)
	t.grown = true
	t.Write(seq, chunk)
	if len(s.waiting) > 0 && !s.inBlock() {
		s.release()
	}
}

func (s *StreamBuffer[T]) open(key int64) *streamText {
	t := s.texts[key]
	if t == nil {
		t = &streamText{Buffer: NewBuffer(func(p Part) { s.emit(key, p) })}
		s.texts[key] = t
	}
	return t
}

// emit calls the function `part`, and then emits the events that waited for the end of the part's
// block.
func (s *StreamBuffer[T]) emit(key int64, p Part) {
	s.part(key, p)
	if p.Final && len(s.texts) == 1 {
		s.release()
	}
}

// Event adds an event that is not text.
func (s *StreamBuffer[T]) Event(value T) {
	if s.inBlock() {
		s.waiting = append(s.waiting, value)
		return
	}
	s.Flush()
	s.event(value)
}

// Break ends the open part of a text because the next chunks of the text are missing.
func (s *StreamBuffer[T]) Break(key int64) {
	t := s.open(key)
	t.grown = false
	t.Flush()
}

// End ends a text.
func (s *StreamBuffer[T]) End(key int64) {
	if t := s.texts[key]; t != nil {
		t.Flush()
	}
	s.Drop(key)
}

// Drop ends a text that has been superseded, and emits nothing more of it.
func (s *StreamBuffer[T]) Drop(key int64) { delete(s.texts, key) }

// Show emits the open parts of the texts that have grown since the last call.
func (s *StreamBuffer[T]) Show() {
	for _, key := range s.keys() {
		if t := s.texts[key]; t.grown {
			t.grown = false
			t.Show()
		}
	}
}

// Flush ends the open parts of all texts and emits the waiting events. It is called at the end of
// the response.
func (s *StreamBuffer[T]) Flush() {
	for _, key := range s.keys() {
		s.texts[key].grown = false
		s.texts[key].Flush()
	}
	s.release()
}

func (s *StreamBuffer[T]) inBlock() bool {
	for _, t := range s.texts {
		if t.InBlock() {
			return true
		}
	}
	return false
}

func (s *StreamBuffer[T]) keys() []int64 { return slices.Sorted(maps.Keys(s.texts)) }

func (s *StreamBuffer[T]) release() {
	waiting := s.waiting
	s.waiting = nil
	for _, e := range waiting {
		s.event(e)
	}
}
