package markdown

// Event is anything other than text: a tool call, a thought, a plan.
type Event[T any] struct {
	Seq   int64
	Value T
}

// StreamBuffer is a Buffer for text with other events in between. An event inside a list, table or
// code block waits for the end of the block. Elsewhere it ends the open paragraph. Order is kept,
// except that a waiting event comes after the block that it would have broken.
type StreamBuffer[T any] struct {
	text    *Buffer
	event   func(Event[T])
	waiting []Event[T]
}

// NewStreamBuffer creates a StreamBuffer that passes parts and events to the functions in the order
// in which they are shown.
func NewStreamBuffer[T any](part func(Part), event func(Event[T])) *StreamBuffer[T] {
	s := &StreamBuffer[T]{event: event}
	s.text = NewBuffer(func(p Part) {
		part(p)
		if p.Final {
			s.release()
		}
	})
	return s
}

// Text adds a chunk of text.
func (s *StreamBuffer[T]) Text(seq int64, chunk string) { s.text.Write(seq, chunk) }

// Event adds another event.
func (s *StreamBuffer[T]) Event(seq int64, value T) {
	e := Event[T]{seq, value}
	if len(s.waiting) > 0 || s.text.InBlock() {
		s.waiting = append(s.waiting, e)
		return
	}
	s.text.Flush()
	s.event(e)
}

// Show emits the open text as a provisional part.
func (s *StreamBuffer[T]) Show() { s.text.Show() }

// Flush ends the text and emits the waiting events. It is called at the end of the response.
func (s *StreamBuffer[T]) Flush() {
	s.text.Flush()
	s.release()
}

func (s *StreamBuffer[T]) release() {
	waiting := s.waiting
	s.waiting = nil
	for _, e := range waiting {
		s.event(e)
	}
}
