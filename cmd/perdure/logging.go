package main

import (
	"context"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// logFormat is the format of log lines.
type logFormat string

const (
	formatAuto logFormat = ""
	formatText logFormat = "text"
	formatJSON logFormat = "json"
)

// checkLog checks the flags for the log.
func (a *app) checkLog() error {
	switch logFormat(a.logFormat) {
	case formatAuto, formatText, formatJSON:
	default:
		return usageError{"--log-format " + a.logFormat + " is unknown", "give text or json"}
	}
	if _, err := a.level(slog.LevelInfo); err != nil {
		return usageError{"--log-level " + a.logLevel + " is unknown", "give debug, info, warn or error"}
	}
	return nil
}

// level returns the level that the flags set, or usual.
func (a *app) level(usual slog.Level) (slog.Level, error) {
	switch {
	case a.verbose:
		return slog.LevelDebug, nil
	case a.logLevel == "":
		return usual, nil
	}
	level := usual
	err := level.UnmarshalText([]byte(strings.ToUpper(a.logLevel)))
	return level, err
}

// logger returns a logger to standard error with the level, unless the flags set another. If
// standard error is not a terminal, the format is JSON.
func (a *app) logger(level slog.Level) *slog.Logger {
	level, _ = a.level(level) // checked when the command began
	options := &slog.HandlerOptions{Level: level}
	if format := logFormat(a.logFormat); format == formatJSON || format == formatAuto && !isTerminal(a.stderr) {
		return slog.New(withSpan{slog.NewJSONHandler(a.stderr, options)})
	}
	return slog.New(withSpan{slog.NewTextHandler(a.stderr, options)})
}

// withSpan adds the ids of the current span to log lines.
type withSpan struct{ slog.Handler }

// Handle implements slog.Handler.
func (h withSpan) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h withSpan) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withSpan{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h withSpan) WithGroup(name string) slog.Handler { return withSpan{h.Handler.WithGroup(name)} }
