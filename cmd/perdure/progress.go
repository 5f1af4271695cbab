package main

import (
	"fmt"
	"time"
)

// line is the progress of a command, a line on standard error. In a terminal it
// is written over; elsewhere there is one now and then.
type line struct {
	*app
	over bool
	at   time.Time
}

func (a *app) progress() *line { return &line{app: a, over: isTerminal(a.stderr)} }

// now says how far it is, if it has not just done so.
func (l *line) now(format string, args ...any) {
	pause, begin, end := 10*time.Second, "", "\n"
	if l.over {
		pause, begin, end = 100*time.Millisecond, "\r\x1b[K", ""
	}
	if time.Since(l.at) < pause {
		return
	}
	l.at = time.Now()
	_ = l.stderr.paint(begin + fmt.Sprintf(format, inlined(args)...) + end)
}

func (l *line) clear() {
	if l.over {
		_ = l.stderr.paint("\r\x1b[K")
	}
}

func (l *line) end(format string, args ...any) {
	l.clear()
	_ = l.stderr.say(format, args...)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
