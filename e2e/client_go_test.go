package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/conversations"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
)

// goClient runs one case with the official Go client.
type goClient struct {
	clientCase
	client openai.Client
	ran    []string
	cut    int // number of events after which streams are cut; 0 for never
	// resumed counts the streams that were resumed.
	resumed int
	// make creates a response.
	make func(context.Context, responses.ResponseNewParams) (*responses.Response, error)
}

// newGoClient returns a client for a case at a base URL.
func newGoClient(c clientCase, url string) *goClient {
	g := &goClient{clientCase: c, client: openai.NewClient(
		option.WithBaseURL(url), option.WithAPIKey(c.Key), option.WithMaxRetries(0),
		// Idle connections would look like leaks to goleak.
		option.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}),
	)}
	g.make = g.create
	return g
}

// runGo runs the cases with the Go client.
func runGo(ctx context.Context, cases []clientCase) map[string]observation {
	sights := map[string]observation{}
	for _, c := range cases {
		seen, err := runGoCase(ctx, c)
		if err != nil {
			seen.Error = err.Error()
		}
		sights[c.Name] = seen
	}
	return sights
}

func runGoCase(ctx context.Context, c clientCase) (observation, error) {
	g := newGoClient(c, c.URL)
	switch c.Kind {
	case "talk":
		texts, err := g.talk(ctx)
		return observation{Texts: texts, Ran: g.ran}, err
	case "image":
		return g.image(ctx)
	case "structured":
		return g.structured(ctx)
	case "cancel":
		return g.cancel(ctx)
	case "cut":
		return g.cutEverywhere(ctx)
	case "websocket":
		return g.websocket(ctx)
	}
	return observation{}, fmt.Errorf("the client has no %s", c.Kind)
}

// params returns the parameters of a request that creates a response. The parameters depend on how
// the conversation is stored.
func (g *goClient) params(ctx context.Context) (responses.ResponseNewParams, error) {
	p := responses.ResponseNewParams{Model: g.Model}
	if g.Tools {
		p.Tools = []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
			Name: "get_weather", Strict: param.NewOpt(true), Parameters: map[string]any{
				"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}},
				"required": []string{"city"}, "additionalProperties": false,
			},
		}}}
	}
	switch g.Mode {
	case "stateless":
		p.Store = param.NewOpt(false)
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	case "conversation":
		made, err := g.client.Conversations.New(ctx, conversations.ConversationNewParams{})
		if err != nil {
			return p, err
		}
		p.Conversation.OfString = param.NewOpt(made.ID)
	}
	return p, nil
}

// endless is the number of rounds of tool calls after one prompt at which the client gives up.
const endless = 12

// talk sends the prompts. After each prompt it runs the requested tools until the model has answered.
func (g *goClient) talk(ctx context.Context) ([]string, error) {
	p, err := g.params(ctx)
	if err != nil {
		return nil, err
	}
	var texts []string
	var history responses.ResponseInputParam
	for _, prompt := range g.Prompts {
		fresh := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(prompt, responses.EasyInputMessageRoleUser)}
		for round := 0; len(fresh) > 0; round++ {
			if round > endless {
				return texts, errors.New("the loop of tools does not end")
			}
			history = append(history, fresh...)
			p.Input.OfInputItemList = fresh
			if g.Mode == "default" || g.Mode == "stateless" {
				p.Input.OfInputItemList = history
			}
			answer, err := g.make(ctx, p)
			if err != nil {
				return texts, err
			}
			if g.Mode == "stateful" {
				p.PreviousResponseID = param.NewOpt(answer.ID)
			}
			for _, item := range answer.Output {
				history = append(history, param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(item.RawJSON())))
			}
			if fresh, err = g.calls(answer); err != nil {
				return texts, err
			}
			if len(fresh) == 0 {
				texts = append(texts, answer.OutputText())
			}
		}
	}
	return texts, nil
}

// calls runs the tool calls of an answer, and returns their outputs.
func (g *goClient) calls(answer *responses.Response) (responses.ResponseInputParam, error) {
	var outputs responses.ResponseInputParam
	for _, item := range answer.Output {
		if item.Type != "function_call" {
			continue
		}
		call := item.AsFunctionCall()
		text := "there is no " + call.Name
		if call.Name == "get_weather" {
			var input struct{ City string }
			if err := json.Unmarshal([]byte(call.Arguments), &input); err != nil {
				return nil, err
			}
			g.ran = append(g.ran, input.City)
			text = "sunny in " + input.City
		}
		output := responses.ResponseInputItemParamOfFunctionCallOutput(text)
		output.OfFunctionCallOutput.CallID = param.NewOpt(call.CallID)
		outputs = append(outputs, output)
	}
	return outputs, nil
}

// create creates a response. If a stream is cut, create resumes it.
func (g *goClient) create(ctx context.Context, p responses.ResponseNewParams) (*responses.Response, error) {
	if !g.Stream {
		return g.client.Responses.New(ctx, p)
	}
	events, err := readAll(g.client.Responses.NewStreaming(ctx, p), nil)
	if len(events) > 0 && len(events) == g.cut {
		first, last := events[0], events[len(events)-1]
		g.resumed++
		events, err = readAll(g.client.Responses.GetStreaming(ctx, first.Response.ID, responses.ResponseGetParams{
			StartingAfter: param.NewOpt(last.SequenceNumber),
		}), events)
		if err == nil {
			err = g.sameAgain(ctx, first.Response.ID, events)
		}
	}
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return nil, errors.New("the stream has no events")
	}
	end := events[len(events)-1].Response
	return &end, nil
}

// sameAgain reads a stream a second time from its start, and compares the events.
func (g *goClient) sameAgain(ctx context.Context, id string, events []responses.ResponseStreamEventUnion) error {
	again, err := readAll(g.client.Responses.GetStreaming(ctx, id, responses.ResponseGetParams{}), nil)
	if err != nil {
		return err
	}
	if len(again) != len(events) {
		return fmt.Errorf("cut after %d events the stream has %d, read again %d", g.cut, len(events), len(again))
	}
	for i, e := range events {
		if e.RawJSON() != again[i].RawJSON() {
			return fmt.Errorf("cut after %d events, event %d is\n%s\nand read again\n%s", g.cut, i, e.RawJSON(), again[i].RawJSON())
		}
	}
	return nil
}

func readAll(stream *ssestream.Stream[responses.ResponseStreamEventUnion], events []responses.ResponseStreamEventUnion) ([]responses.ResponseStreamEventUnion, error) {
	for stream.Next() {
		events = append(events, stream.Current())
	}
	return events, errors.Join(stream.Err(), stream.Close())
}

// websocket runs the conversation over one WebSocket connection. In the mode stateless, the server
// stores no response, so responses can only be chained within the connection.
func (g *goClient) websocket(ctx context.Context) (observation, error) {
	connection, err := g.client.Responses.Connect(ctx, responses.ResponseConnectionOptions{})
	if err != nil {
		return observation{}, err
	}
	defer connection.Close()
	store := g.Mode == "stateful"
	g.Mode = "stateful"
	g.make = func(ctx context.Context, p responses.ResponseNewParams) (*responses.Response, error) {
		p.Store = param.NewOpt(store)
		raw, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		frame := append([]byte(`{"type":"response.create",`), raw[1:]...)
		if err := connection.SendRaw(ctx, frame); err != nil {
			return nil, err
		}
		return connection.FinalResponse(ctx)
	}
	texts, err := g.talk(ctx)
	return observation{Texts: texts, Ran: g.ran}, err
}

// cutEverywhere repeats the conversation with a cut after the first event of each stream, then
// after the second event, and so on. It stops when no stream is long enough to be cut.
func (g *goClient) cutEverywhere(ctx context.Context) (observation, error) {
	all := observation{}
	for n := 1; n <= maxCuts; n++ {
		one := newGoClient(g.clientCase, cutURL(g.URL, n))
		one.cut = n
		texts, err := one.talk(ctx)
		if err != nil {
			return all, fmt.Errorf("cut after %d events: %w", n, err)
		}
		all.Cuts = append(all.Cuts, cutObservation{N: n, Texts: texts, Ran: one.ran, Resumed: one.resumed})
		if one.resumed == 0 {
			break
		}
	}
	return all, nil
}

func (g *goClient) image(ctx context.Context) (observation, error) {
	image := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetailAuto)
	image.OfInputImage.ImageURL = param.NewOpt(g.Image)
	answer, err := g.create(ctx, responses.ResponseNewParams{Model: g.Model, Input: responses.ResponseNewParamsInputUnion{
		OfInputItemList: responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(responses.ResponseInputMessageContentListParam{
			responses.ResponseInputContentParamOfInputText("What is this?"), image,
		}, responses.EasyInputMessageRoleUser)},
	}})
	if err != nil {
		return observation{}, err
	}
	return observation{Texts: []string{answer.OutputText()}}, nil
}

func (g *goClient) structured(ctx context.Context) (observation, error) {
	p := asks(g.Model, "The weather of Paris?")
	p.Text.Format.OfJSONSchema = &responses.ResponseFormatTextJSONSchemaConfigParam{
		Name: "weather", Strict: param.NewOpt(true), Schema: map[string]any{
			"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}, "sunny": map[string]any{"type": "boolean"}},
			"required": []string{"city", "sunny"}, "additionalProperties": false,
		},
	}
	answer, err := g.create(ctx, p)
	if err != nil {
		return observation{}, err
	}
	return observation{Object: json.RawMessage(answer.OutputText())}, nil
}

func (g *goClient) cancel(ctx context.Context) (observation, error) {
	p := asks(g.Model, "hi")
	p.Background = param.NewOpt(true)
	made, err := g.client.Responses.New(ctx, p)
	if err != nil {
		return observation{}, err
	}
	stream := g.client.Responses.GetStreaming(ctx, made.ID, responses.ResponseGetParams{})
	defer stream.Close()
	var seen observation
	for stream.Next() {
		if stream.Current().Type == "response.output_text.delta" && seen.Status == "" {
			cancelled, err := g.client.Responses.Cancel(ctx, made.ID)
			if err != nil {
				return seen, err
			}
			seen.Status = string(cancelled.Status)
		}
		seen.End = string(stream.Current().Response.Status)
	}
	return seen, stream.Err()
}
