package react

import (
	"context"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/tool"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// The spans of model and tool calls are children of the span of the task attempt that makes the
// call, and use the tracer provider of that span, which does nothing if the worker has no tracing.
// Spans never contain text of a conversation.

func tracerOf(ctx context.Context) trace.Tracer {
	return trace.SpanFromContext(ctx).TracerProvider().Tracer("github.com/perdure/perdure/react")
}

// startModelSpan starts the span of a model call. The caller ends it with the returned function.
func startModelSpan(ctx agent.TaskContext, m perdure.ModelConfig, r llm.Request) (context.Context, func(answer *llm.Response, failure string)) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, func(*llm.Response, string) {}
	}
	attributes := []attribute.KeyValue{
		semconv.GenAIOperationNameChat, providerName(m.Provider), semconv.GenAIRequestModel(m.ModelID),
		semconv.GenAIRequestStream(true), semconv.GenAIConversationID(ctx.Task().ExecutionID.String()),
	}
	if r.MaxTokens > 0 {
		attributes = append(attributes, semconv.GenAIRequestMaxTokens(r.MaxTokens))
	}
	if r.Temperature != nil {
		attributes = append(attributes, semconv.GenAIRequestTemperature(*r.Temperature))
	}
	spanned, span := tracerOf(ctx).Start(ctx, "chat "+m.ModelID, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	return spanned, func(answer *llm.Response, failure string) {
		defer span.End()
		if failure != "" {
			span.SetAttributes(semconv.ErrorTypeKey.String(failure))
			span.SetStatus(codes.Error, failure)
			return
		}
		span.SetAttributes(answered(answer)...)
	}
}

// answered returns attributes that describe a model's answer, for the span of the call.
func answered(a *llm.Response) []attribute.KeyValue {
	all := []attribute.KeyValue{semconv.GenAIResponseFinishReasons(string(a.StopReason))}
	if a.Model != "" {
		all = append(all, semconv.GenAIResponseModel(a.Model))
	}
	if a.ProviderResponseID != "" {
		all = append(all, semconv.GenAIResponseID(a.ProviderResponseID))
	}
	if u := a.Usage; u != nil {
		all = append(all,
			// OpenTelemetry's convention counts cached tokens as input.
			semconv.GenAIUsageInputTokens(int(u.Input+u.CacheRead+u.CacheWrite)), semconv.GenAIUsageOutputTokens(int(u.Output)),
			semconv.GenAIUsageCacheReadInputTokens(int(u.CacheRead)), semconv.GenAIUsageCacheCreationInputTokens(int(u.CacheWrite)))
	}
	return all
}

// providerName returns the attribute with the provider's name by OpenTelemetry's convention.
func providerName(name string) attribute.KeyValue {
	switch {
	case name == "gemini":
		return semconv.GenAIProviderNameGCPGemini
	case strings.HasPrefix(name, "openai"):
		return semconv.GenAIProviderNameOpenAI
	}
	return semconv.GenAIProviderNameKey.String(name)
}

// startToolSpan starts the span of a tool's run. The caller ends it with the returned function.
func startToolSpan(ctx agent.TaskContext, t tool.Tool) (context.Context, func(ToolOutcome)) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, func(ToolOutcome) {}
	}
	spanned, span := tracerOf(ctx).Start(ctx, "execute_tool "+t.Name, trace.WithAttributes(
		semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(t.Name), semconv.GenAIToolType("function"),
		semconv.GenAIToolCallID(ctx.Task().Place.ToolCallID), semconv.GenAIConversationID(ctx.Task().ExecutionID.String()),
	))
	return spanned, func(outcome ToolOutcome) {
		if outcome != ToolOK {
			span.SetAttributes(semconv.ErrorTypeKey.String(string(outcome)))
		}
		if outcome == ToolFailed || outcome == ToolCancelled {
			span.SetStatus(codes.Error, string(outcome))
		}
		span.End()
	}
}
