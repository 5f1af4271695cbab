package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
)

// verdict is a client's answer to an approval request of a response.
type verdict struct {
	at       string // the answer's place in the input, for errors
	request  string // the id of the approval request
	question uuid.UUID
	approve  bool
	reason   string
}

// readVerdicts parses an input that answers approval requests. It returns nil if the input has no
// such answers. Answers continue a response, and other items begin a new response, so an input must
// not have both.
func readVerdicts(items []givenItem) ([]verdict, error) {
	var all []verdict
	seen := map[string]bool{}
	for n, i := range items {
		if i.Type != itemVerdict {
			continue
		}
		v, err := i.verdict("input[" + strconv.Itoa(n) + "]")
		if err != nil {
			return nil, err
		}
		if seen[v.request] {
			return nil, invalid(v.at+".approval_request_id", "invalid_value",
				"Invalid '%s.approval_request_id': '%s' is there twice; send one answer to each approval request.", v.at, v.request)
		}
		seen[v.request] = true
		all = append(all, v)
	}
	switch {
	case len(all) > 0 && len(all) < len(items):
		return nil, invalid("input", "invalid_value",
			"Invalid 'input': items of type 'mcp_approval_response' continue a response, so no other items may stand beside them. Send the answers alone, and the other items after the response has ended.")
	case len(all) > perdure.MaxOpenQuestions:
		return nil, invalid("input", "array_above_max_length", "Invalid 'input': has over %d answers to approval requests.", perdure.MaxOpenQuestions)
	}
	return all, nil
}

func (i givenItem) verdict(at string) (verdict, error) {
	v := verdict{at: at, request: i.Request, reason: i.Reason}
	switch {
	case i.Request == "":
		return v, missing(at + ".approval_request_id")
	case i.Approve == nil:
		return v, missing(at + ".approve")
	case len(i.Reason) > perdure.MaxAnswerReason:
		return v, invalid(at+".reason", "string_above_max_length", "Invalid '%s.reason': has over %d bytes.", at, perdure.MaxAnswerReason)
	}
	v.approve = *i.Approve
	var ok bool
	if v.question, ok = questionOf(i.Request); !ok {
		return v, v.unknown("")
	}
	return v, nil
}

// unknown returns the error for an answer to an approval request that the response does not have.
func (v verdict) unknown(response string) *Error {
	of := "of the previous response"
	if response != "" {
		of = "of response '" + response + "'"
	}
	return invalid(v.at+".approval_request_id", "approval_request_not_found",
		"Approval request with id '%s' not found; send the id of an item of type 'mcp_approval_request' in the output %s.", v.request, of)
}

// checkVerdicts checks the parameters of a create request that answers approval requests. Most
// parameters are refused, because the response continues with the parameters of the request that
// began the response.
func (r *request) checkVerdicts() error {
	switch {
	case r.compacts:
		return unsupportedValue("input", "a compaction takes no items of type 'mcp_approval_response'.")
	case r.warmUp:
		return unsupportedValue("input", "a warm-up takes no items of type 'mcp_approval_response'.")
	case r.Conversation != "":
		return invalid("conversation", "invalid_value",
			"Invalid 'conversation': items of type 'mcp_approval_response' continue a response; name it in 'previous_response_id' instead.")
	case r.PreviousResponseID == "":
		return invalid("previous_response_id", "missing_required_parameter",
			"Missing required parameter: 'previous_response_id', the id of the response that has the approval requests.")
	}
	return nil
}

// answerID returns an id that is derived from the answer. A repeated answer therefore has the same
// id, and the engine counts it once.
func (v verdict) answerID() string {
	sum := sha256.Sum256(encoded(v.request, v.approve, v.reason))
	return "mcp_approval_response:" + hex.EncodeToString(sum[:])
}

// decide stores the answers to approval requests, so that the run continues the response. Its reply
// is like the reply to the request that created the response.
func (a *API) decide(w http.ResponseWriter, r *http.Request, req *request) {
	c, err := a.continueAfter(r.Context(), orgOf(r), req)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	switch {
	case req.Stream:
		a.stream(w, r, c.fold, c.after)
	case req.Background:
		a.answer(w, r, c.fold, a.current(r.Context(), c.fold))
	default:
		f, err := a.waitAgain(r.Context(), orgOf(r), c)
		a.answer(w, r, f, err)
	}
}

// continuation is a response that continues because its approval requests were answered.
type continuation struct {
	*found
	after int64 // sequence number of the last event of the answered approval requests
}

// continueAfter stores the verdicts of the request and returns the response that continues. It
// checks all verdicts before it stores any.
func (a *API) continueAfter(ctx context.Context, org string, req *request) (*continuation, error) {
	f, err := a.findAsking(ctx, org, req.PreviousResponseID)
	if err != nil {
		return nil, err
	}
	if a.Voter == nil {
		return nil, perdure.Errorf(perdure.PermissionDenied, "this server takes no answers to approval requests")
	}
	voter, err := a.Voter(ctx)
	if err != nil {
		return nil, err
	}
	c := &continuation{after: -1}
	answers := make([]questions.AnswerRequest, len(req.verdicts))
	for i, v := range req.verdicts {
		g := f.approval(v.request)
		if g == nil {
			return nil, v.unknown(f.id())
		}
		c.after = max(c.after, g.shown)
		answers[i] = v.answer(g, voter.Role)
		if err := a.Engine.Questions.CheckAnswer(ctx, org, answers[i], voter); err != nil {
			return nil, v.refused(err)
		}
	}
	for i, v := range req.verdicts {
		if _, err := a.Engine.Answer(ctx, org, answers[i]); err != nil {
			return nil, v.refused(err)
		}
	}
	c.found, err = a.find(ctx, org, f.id(), false)
	return c, err
}

// findAsking returns the response with the approval requests that the client answers, in its
// current state.
func (a *API) findAsking(ctx context.Context, org, id string) (*found, error) {
	f, err := a.find(ctx, org, id, false)
	if err == nil {
		err = a.current(ctx, f.fold)
	}
	if isNotFound(err) {
		return nil, invalid("previous_response_id", "previous_response_not_found", "Previous response with id '%s' not found.", id)
	}
	return f, err
}

// answer converts the verdict to an answer of the question. The answer contains the hash of the
// call's arguments as the approval request showed them.
func (v verdict) answer(shown *growing, role perdure.KeyRole) questions.AnswerRequest {
	hash := perdure.DetailsHash(perdure.QuestionApproval, shown.Name, json.RawMessage(shown.Arguments))
	r := questions.AnswerRequest{
		Question: v.question, AnswerID: v.answerID(), Verdict: perdure.VerdictDeny, Reason: v.reason, Role: role,
	}
	if v.approve {
		r.Verdict, r.DetailsSHA256 = perdure.VerdictApprove, &hash
	}
	return r
}

// refused converts the engine's error about a verdict for the client. The error names the index of
// the verdict in the input. The error of a conflict also tells clients not to repeat the request.
func (v verdict) refused(err error) error {
	var coded *perdure.Error
	if !errors.As(err, &coded) || coded.Code == perdure.Internal || coded.Code == perdure.Unavailable || coded.Code == perdure.RateLimited {
		return err
	}
	if coded.Code == perdure.NotFound {
		return v.unknown("")
	}
	e := ErrorOf(coded.Code, 0, coded.Message)
	at := v.at + ".approval_request_id"
	if len(coded.Fields) > 0 && coded.Fields[0].Location == "reason" {
		at = v.at + ".reason"
	}
	e.Param = &at
	if e.Status == http.StatusConflict {
		e = e.finally()
	}
	return e
}

// waitAgain follows the response until it ends or the agent waits for a question again. It returns
// immediately if the agent still waits for a question, for example because a second key has to
// vote.
func (a *API) waitAgain(ctx context.Context, org string, c *continuation) (*fold, error) {
	now, err := a.find(ctx, org, c.id(), false)
	if err == nil {
		err = a.current(ctx, now.fold)
	}
	if err != nil {
		return nil, err
	}
	if now.ended() {
		return now.fold, nil
	}
	// If the agent begins to wait after this read, the log has an event about the wait at a later
	// position.
	x, err := a.stored().Execution(ctx, org, c.execution.ID)
	if err != nil {
		return nil, err
	}
	if x.Status == perdure.StatusWaiting && x.WaitReason == waitsForQuestion {
		return c.fold, a.current(ctx, c.fold)
	}
	c.asksAfter = now.last
	return c.fold, a.wait(ctx, c.fold)
}
