package main

import (
	"fmt"
	"time"
)

// line shows the progress of a command in a line on standard error. A terminal overwrites the line;
// other outputs get a line from time to time.
type line struct {
	*app
	over bool
	at   time.Time
}

func (a *app) progress() *line { return &line{app: a, over: isTerminal(a.stderr)} }

// now shows the progress, unless it was shown very recently.
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
