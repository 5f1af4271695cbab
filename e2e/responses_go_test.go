package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/conversations"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
)

// openaiGo returns the official Go client for a deployment.
func (s *deployment) openaiGo() openai.Client {
	return openai.NewClient(
		option.WithBaseURL(s.url+"/v1"), option.WithAPIKey(s.token(filepath.Join(s.root, "data"))), option.WithMaxRetries(0),
		// Idle connections would look like leaks to goleak.
		option.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}),
	)
}

func asks(model, input string) responses.ResponseNewParams {
	return responses.ResponseNewParams{Model: model, Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt(input)}}
}

// rawEvents reads a stream to its end.
func rawEvents(t *testing.T, stream *ssestream.Stream[responses.ResponseStreamEventUnion]) []string {
	t.Helper()
	defer stream.Close()
	var all []string
	for stream.Next() {
		all = append(all, stream.Current().RawJSON())
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOfficialGoClient checks that the official Go client creates, chains and branches responses,
// calls its own tools, cancels, and receives errors with their status. A stream can be resumed after
// each of its events.
func TestOfficialGoClient(t *testing.T) {
	t.Parallel()
	s := newResponseDeployment(t)
	c, ctx := s.openaiGo(), within(t)

	first, err := c.Responses.New(ctx, asks("scripted/chain", "hi"))
	if err != nil || first.OutputText() != "First answer." || first.Status != "completed" {
		t.Fatalf("%v: %s", err, first.RawJSON())
	}
	second := asks("scripted/chain", "on")
	second.PreviousResponseID = param.NewOpt(first.ID)
	whole := rawEvents(t, c.Responses.NewStreaming(ctx, second))
	var end struct{ Response responses.Response }
	if err := json.Unmarshal([]byte(whole[len(whole)-1]), &end); err != nil || end.Response.OutputText() != "Second answer." {
		t.Fatalf("%v: %v", err, whole)
	}
	for i := range whole {
		rest := rawEvents(t, c.Responses.GetStreaming(ctx, end.Response.ID, responses.ResponseGetParams{StartingAfter: param.NewOpt(int64(i))}))
		if diff := cmp.Diff(whole[i+1:], rest, cmp.Comparer(func(a, b []string) bool { return fmt.Sprint(a) == fmt.Sprint(b) })); diff != "" {
			t.Fatalf("after event %d:\n%s", i, diff)
		}
	}
	branch := asks("scripted/chain", "other")
	branch.PreviousResponseID = param.NewOpt(first.ID)
	if r, err := c.Responses.New(ctx, branch); err != nil || r.OutputText() != "Second answer." || r.ID == end.Response.ID {
		t.Fatalf("the branch: %v", err)
	}
	goCallsTools(t, c)
	goCancels(t, c)

	var refused *openai.Error
	if _, err := c.Responses.New(ctx, asks("none", "hi")); !errors.As(err, &refused) || refused.StatusCode != 400 || refused.Param != "model" || refused.Code != "model_not_found" {
		t.Errorf("an unknown model: %v", err)
	}
	if _, err := c.Responses.Get(ctx, "resp_none", responses.ResponseGetParams{}); !errors.As(err, &refused) || refused.StatusCode != 404 {
		t.Errorf("an unknown response: %v", err)
	}
	if m, err := c.Models.Get(ctx, "scripted/chain"); err != nil || m.OwnedBy != "scripted" {
		t.Errorf("the model: %v, %v", m, err)
	}
}

func goCallsTools(t *testing.T, c openai.Client) {
	t.Helper()
	ctx := within(t)
	ask := asks("scripted/tools", "the weather?")
	ask.Tools = []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
		Name: "get_weather", Parameters: map[string]any{"type": "object"}, Strict: param.NewOpt(false),
	}}}
	r, err := c.Responses.New(ctx, ask)
	if err != nil {
		t.Fatal(err)
	}
	var outputs responses.ResponseInputParam
	for _, item := range r.Output {
		if call := item.AsFunctionCall(); item.Type == "function_call" {
			output := responses.ResponseInputItemParamOfFunctionCallOutput("sunny")
			output.OfFunctionCallOutput.CallID = param.NewOpt(call.CallID)
			outputs = append(outputs, output)
		}
	}
	ask.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: outputs}
	ask.PreviousResponseID = param.NewOpt(r.ID)
	if r, err = c.Responses.New(ctx, ask); err != nil || r.OutputText() != "It is sunny." {
		t.Fatalf("the outputs: %v", err)
	}
}

func goCancels(t *testing.T, c openai.Client) {
	t.Helper()
	ctx := within(t)
	ask := asks("scripted/slow", "hi")
	ask.Background = param.NewOpt(true)
	r, err := c.Responses.New(ctx, ask)
	if err != nil {
		t.Fatal(err)
	}
	stream := c.Responses.GetStreaming(ctx, r.ID, responses.ResponseGetParams{})
	for stream.Next() && stream.Current().Type != "response.output_text.delta" {
	}
	if cancelled, err := c.Responses.Cancel(ctx, r.ID); err != nil || cancelled.Status != "cancelled" {
		t.Fatalf("cancel: %v", err)
	}
	last := ""
	for stream.Next() {
		last = stream.Current().RawJSON()
	}
	var end struct{ Response responses.Response }
	if err := json.Unmarshal([]byte(last), &end); err != nil || end.Response.Status != "cancelled" {
		t.Errorf("the stream ended with %s", last)
	}
	if err := errors.Join(stream.Err(), stream.Close(), c.Responses.Delete(ctx, r.ID)); err != nil {
		t.Error(err)
	}
	var refused *openai.Error
	if _, err := c.Responses.Get(ctx, r.ID, responses.ResponseGetParams{}); !errors.As(err, &refused) || refused.StatusCode != 404 {
		t.Errorf("a deleted response: %v", err)
	}
}

// TestOfficialGoClientConverses checks that the official Go client can use conversations: it
// creates a conversation with items, adds items, creates responses in the conversation, and pages
// through the items.
func TestOfficialGoClientConverses(t *testing.T) {
	t.Parallel()
	s := newResponseDeployment(t)
	c, ctx := s.openaiGo(), within(t)
	user := func(text string) responses.ResponseInputItemUnionParam {
		return responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser)
	}
	conversation, err := c.Conversations.New(ctx, conversations.ConversationNewParams{
		Items: []responses.ResponseInputItemUnionParam{user("before")}, Metadata: map[string]string{"topic": "test"},
	})
	if err != nil || conversation.RawJSON() == "" {
		t.Fatal(err)
	}
	for i, want := range []string{"First answer.", "Second answer."} {
		ask := asks("scripted/chain", fmt.Sprint("turn ", i))
		ask.Conversation = responses.ResponseNewParamsConversationUnion{OfString: param.NewOpt(conversation.ID)}
		r, err := c.Responses.New(ctx, ask)
		if err != nil || r.OutputText() != want || r.Conversation.ID != conversation.ID {
			t.Fatalf("turn %d: %v, %s", i, err, r.RawJSON())
		}
	}
	added, err := c.Conversations.Items.New(ctx, conversation.ID, conversations.ItemNewParams{Items: []responses.ResponseInputItemUnionParam{user("after")}})
	if err != nil || len(added.Data) != 1 {
		t.Fatal(err)
	}
	var texts []string
	pages := c.Conversations.Items.ListAutoPaging(ctx, conversation.ID, conversations.ItemListParams{Limit: param.NewOpt[int64](2), Order: "asc"})
	for pages.Next() {
		item := pages.Current()
		if item.Type == "reasoning" {
			texts = append(texts, item.AsReasoning().Summary[0].Text)
		} else {
			texts = append(texts, item.AsMessage().Content[0].Text)
		}
		one, err := c.Conversations.Items.Get(ctx, conversation.ID, item.ID, conversations.ItemGetParams{})
		if err != nil || one.RawJSON() != item.RawJSON() {
			t.Errorf("the item %s: %v, %s", item.RawJSON(), err, one.RawJSON())
		}
	}
	if diff := cmp.Diff([]string{"before", "turn 0", "Let me see.", "First answer.", "turn 1", "Second answer.", "after"}, texts); diff != "" || pages.Err() != nil {
		t.Errorf("%v, the items:\n%s", pages.Err(), diff)
	}
	changed, err := c.Conversations.Update(ctx, conversation.ID, conversations.ConversationUpdateParams{Metadata: map[string]string{"topic": "other"}})
	if err != nil || fmt.Sprint(changed.Metadata) != "map[topic:other]" {
		t.Errorf("the metadata: %v, %s", err, changed.RawJSON())
	}
	var refused *openai.Error
	if _, err := c.Conversations.Items.Delete(ctx, conversation.ID, added.Data[0].ID); !errors.As(err, &refused) || refused.StatusCode != 405 {
		t.Errorf("an item is deleted: %v", err)
	}
	if gone, err := c.Conversations.Delete(ctx, conversation.ID); err != nil || !gone.Deleted || gone.ID != conversation.ID {
		t.Errorf("deleted: %v", err)
	}
	if _, err := c.Conversations.Get(ctx, conversation.ID); !errors.As(err, &refused) || refused.StatusCode != 404 {
		t.Errorf("a deleted conversation: %v", err)
	}
}
