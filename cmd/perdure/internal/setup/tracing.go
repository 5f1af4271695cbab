package setup

import (
	"context"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// tracing exports a command's spans. The zero value exports none.
type tracing struct {
	provider *sdktrace.TracerProvider
	root     trace.Span // the span of a short-lived command
}

// tracesWanted reports whether the variables of OpenTelemetry request traces: by
// OTEL_TRACES_EXPORTER=otlp, or by an endpoint.
func tracesWanted() (bool, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	switch exporter := os.Getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "":
		return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "", nil
	case "none":
		return false, nil
	case "otlp":
		return true, nil
	default:
		return false, NewUsageError("OTEL_TRACES_EXPORTER is "+exporter+"; perdure can export otlp or none", "set it to otlp")
	}
}

// startTracing starts the export of spans if environment variables request it (see tracesWanted).
func startTracing(ctx context.Context, version string) (tracing, error) {
	wanted, err := tracesWanted()
	if err != nil || !wanted {
		return tracing{}, err
	}
	if err := checkExporter(); err != nil {
		return tracing{}, err
	}
	exporter, err := newExporter(ctx)
	if err != nil {
		return tracing{}, NewUsageError("traces cannot be exported: "+err.Error(), "look at the variables OTEL_EXPORTER_OTLP_*")
	}
	// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence over these attributes.
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName("perdure"), semconv.ServiceVersion(version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return tracing{}, NewUsageError("traces cannot be exported: "+err.Error(), "look at the variable OTEL_RESOURCE_ATTRIBUTES")
	}
	return tracing{provider: sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))}, nil
}

// checkExporter refuses environment variables whose values the exporter cannot use. The exporter
// would ignore such a value and write it to the log, although it may contain a password or key.
func checkExporter() error {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		if u, err := url.Parse(os.Getenv(name)); err != nil || os.Getenv(name) != "" && u.Host == "" {
			return NewUsageError(name+" is no URL", "set it to one like http://127.0.0.1:4318")
		}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		for pair := range strings.SplitSeq(os.Getenv(name), ",") {
			key, value, both := strings.Cut(pair, "=")
			_, err := url.PathUnescape(value)
			if _, badKey := url.PathUnescape(key); pair != "" && (!both || strings.TrimSpace(key) == "" || badKey != nil || err != nil) {
				return NewUsageError(name+" holds what is no header", "write it like name=value,other=value, with % and commas escaped as in URLs")
			}
		}
	}
	return nil
}

// newExporter creates the exporter for the protocol in the environment variables. The exporter itself
// reads endpoint, headers, certificates and timeouts from the environment.
func newExporter(ctx context.Context) (*otlptrace.Exporter, error) {
	protocol := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		protocol = os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	if protocol == "grpc" {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

// TracerProvider returns the provider for server and worker; nil disables spans.
func (t tracing) TracerProvider() trace.TracerProvider {
	if t.provider == nil {
		return nil // not a nil pointer in an interface
	}
	return t.provider
}

// begin starts the span of a short-lived command. Its parent is the span in the environment variable
// TRACEPARENT.
func (t *tracing) begin(ctx context.Context, name string) context.Context {
	if t.provider == nil {
		return ctx
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": os.Getenv("TRACEPARENT")})
	ctx, t.root = t.provider.Tracer("github.com/perdure/perdure/cmd/perdure").Start(ctx, name)
	return ctx
}

// startTracing starts the export of spans if environment variables request it. A short-lived
// command gets one span for its whole run.
func (a *App) startTracing(cmd *cobra.Command) error {
	var err error
	if a.Tracing, err = startTracing(cmd.Context(), a.Version); err != nil {
		return err
	}
	if cmd.GroupID != "serve" {
		cmd.SetContext(a.Tracing.begin(cmd.Context(), cmd.CommandPath()))
	}
	return nil
}

// exportWithin is the time limit of the last export.
const exportWithin = 5 * time.Second

// End exports the remaining spans. A failed export is not an error of the command; the exporter
// logs it.
func (t tracing) End() {
	if t.provider == nil {
		return
	}
	if t.root != nil {
		t.root.End()
	}
	ctx, cancel := context.WithTimeout(context.Background(), exportWithin)
	defer cancel()
	_ = t.provider.Shutdown(ctx)
}
