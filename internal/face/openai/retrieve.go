package openai

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// retrieve responds with the current response object, or streams the events of the response. The
// stream can begin after a given sequence number.
func (a *API) retrieve(w http.ResponseWriter, r *http.Request) {
	query, err := retrieveQuery(r)
	var asked retrieval
	if err == nil {
		asked, err = retrievalOf(query)
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	f, err := a.find(r.Context(), orgOf(r), r.PathValue("id"), false)
	if err == nil {
		err = a.includeMore(r.Context(), orgOf(r), f, asked.include)
	}
	switch {
	case err != nil:
		a.fail(w, r, err)
	case asked.stream:
		leave, err := a.read(r)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		defer leave()
		a.stream(w, r, f.fold, asked.after)
	default:
		a.answer(w, r, f.fold, a.current(r.Context(), f.fold))
	}
}

// includeMore adds encrypted reasoning to the response if the parameter include of the retrieve
// request contains it, although the parameter include of the create request did not contain it.
func (a *API) includeMore(ctx context.Context, org string, f *found, include []string) error {
	asked := request{Include: include}
	if !asked.wants(includeReasoning) {
		return nil
	}
	box, err := a.box(ctx, org, sealedReasoning)
	if err == nil {
		f.seal = box.Seal
	}
	return err
}

// retrieveQuery returns the query parameters of a retrieve request. If the request has a body, the
// members of the body are added, because OpenAI's Go client requests a stream in the body of a GET
// request.
func retrieveQuery(r *http.Request) (url.Values, error) {
	q := r.URL.Query()
	raw, err := io.ReadAll(io.LimitReader(r.Body, 4096))
	if err != nil || len(raw) == 0 {
		return q, bodyError(err)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return q, invalid("", "invalid_json", "The body of a retrieve, if there is one, has to be a JSON object.")
	}
	for name, value := range members {
		q[name] = textsOf(value)
	}
	return q, nil
}

// textsOf converts a member of a JSON body to values of the query parameter of the same name. Each
// element of an array is one value. Strings are returned without quotes, other values as JSON.
func textsOf(value json.RawMessage) []string {
	var all []json.RawMessage
	if json.Unmarshal(value, &all) != nil {
		all = []json.RawMessage{value}
	}
	texts := make([]string, len(all))
	for i, v := range all {
		if json.Unmarshal(v, &texts[i]) != nil {
			texts[i] = string(v)
		}
	}
	return texts
}

// retrieval contains the parameters of a retrieve request.
type retrieval struct {
	stream  bool
	after   int64 // only events with a greater sequence number are sent; -1 sends all
	include []string
}

func retrievalOf(q url.Values) (retrieval, error) {
	asked := retrieval{after: -1}
	for name, values := range q {
		if err := asked.set(name, values); err != nil {
			return asked, err
		}
	}
	if asked.after >= 0 && !asked.stream {
		return asked, invalid("starting_after", "invalid_value", "'starting_after' is for 'stream=true'.")
	}
	return asked, nil
}

func (asked *retrieval) set(name string, values []string) (err error) {
	value := ""
	if len(values) > 0 {
		value = values[0]
	}
	switch name {
	case "stream":
		if asked.stream, err = strconv.ParseBool(value); err != nil {
			return invalid(name, "invalid_type", "Invalid type for 'stream': expected a boolean.")
		}
	case "starting_after":
		if asked.after, err = strconv.ParseInt(value, 10, 64); err != nil || asked.after < 0 {
			return invalid(name, "invalid_type", "Invalid type for 'starting_after': expected a whole number from 0.")
		}
	case "include_obfuscation":
		if value != "false" {
			return unsupported(name, "leave it out")
		}
	case "include", "include[]": // clients differ in how they encode an array
		for _, v := range values {
			if err := oneOf("include", v, included...); err != nil {
				return err
			}
			asked.include = append(asked.include, v)
		}
	default:
		if strings.HasPrefix(name, "include[") {
			return asked.set("include", values)
		}
		return unsupported(name, "leave it out")
	}
	return nil
}
