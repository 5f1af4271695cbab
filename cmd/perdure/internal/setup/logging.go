package setup

import (
	"context"
	"log/slog"
	"strings"

	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"go.opentelemetry.io/otel/trace"
)

// logFormat is the format of log lines.
type logFormat string

const (
	formatAuto logFormat = ""
	formatText logFormat = "text"
	formatJSON logFormat = "json"
)

// checkLogFlags checks the flags for the log.
func (a *App) checkLogFlags() error {
	switch logFormat(a.logFormat) {
	case formatAuto, formatText, formatJSON:
	default:
		return NewUsageError("--log-format "+a.logFormat+" is unknown", "give text or json")
	}
	if _, err := a.logLevelOr(slog.LevelInfo); err != nil {
		return NewUsageError("--log-level "+a.logLevel+" is unknown", "give debug, info, warn or error")
	}
	return nil
}

// logLevelOr returns the level that the flags set. If they set none, it returns the parameter
// `usual`.
func (a *App) logLevelOr(usual slog.Level) (slog.Level, error) {
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

// Logger returns a logger to standard error with the level, unless the flags set another level. If
// standard error is not a terminal, the format is JSON.
func (a *App) Logger(level slog.Level) *slog.Logger {
	level, _ = a.logLevelOr(level) // checked when the command began
	options := &slog.HandlerOptions{Level: level}
	if format := logFormat(a.logFormat); format == formatJSON || format == formatAuto && !terminal.IsTerminal(a.Stderr) {
		return slog.New(withSpan{slog.NewJSONHandler(a.Stderr, options)})
	}
	return slog.New(withSpan{slog.NewTextHandler(a.Stderr, options)})
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
