package connection

import "testing"

// TestAPanicOfAWriteIsItsError checks that a panic during a deferred write is returned as an error.
func TestAPanicOfAWriteIsItsError(t *testing.T) {
	c := openAlone(t).Conn
	stmts := c.stmts
	c.stmts = nil // makes the next caching of a statement panic
	err := newLater(c).write(write{"SELECT 4711", nil})
	c.stmts = stmts
	if err == nil {
		t.Error("it gives no error")
	}
}
