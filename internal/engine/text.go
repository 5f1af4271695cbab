package engine

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/perdure/perdure"
)

// checkTexts refuses a request of which a text cannot be kept by every store, and
// names the first one. It goes over all that the request holds, so that no field
// is forgotten; contents are bytes and stay as they are, and what errors say is
// mended instead. at is where the request stands; "" is the top.
func checkTexts(at string, request any) error {
	where, bad := badText(reflect.ValueOf(request))
	if bad == "" {
		return nil
	}
	return perdure.CheckText(strings.TrimPrefix(at+where, "."), bad)
}

var (
	taskErrorType = reflect.TypeFor[perdure.TaskError]()
	timeType      = reflect.TypeFor[perdure.Time]()
)

// badText returns a text that cannot be kept, and where in v it is; "" if there is
// none.
func badText(v reflect.Value) (where, text string) {
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); perdure.CheckText("", text) != nil {
			return "", text
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return badText(v.Elem())
		}
	case reflect.Slice:
		return badTextOfEach(v)
	case reflect.Map:
		for members := v.MapRange(); members.Next(); {
			for _, part := range []reflect.Value{members.Key(), members.Value()} {
				if where, bad := badText(part); bad != "" {
					return where, bad
				}
			}
		}
	case reflect.Struct:
		return badTextOfFields(v)
	}
	return "", ""
}

func badTextOfEach(v reflect.Value) (where, text string) {
	switch v.Type().Elem().Kind() {
	case reflect.Uint8, reflect.Array:
		return "", "" // a content, or ids
	}
	for i := range v.Len() {
		if where, bad := badText(v.Index(i)); bad != "" {
			return fmt.Sprintf("[%d]%s", i, where), bad
		}
	}
	return "", ""
}

func badTextOfFields(v reflect.Value) (where, text string) {
	t := v.Type()
	if t == taskErrorType || t == timeType {
		return "", ""
	}
	for i := range t.NumField() {
		where, bad := badText(v.Field(i))
		if bad == "" {
			continue
		}
		if field := t.Field(i); !field.Anonymous {
			where = "." + nameOf(field) + where
		}
		return where, bad
	}
	return "", ""
}

// nameOf is what clients and workers call a field.
func nameOf(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
		return name
	}
	return strings.ToLower(f.Name[:1]) + f.Name[1:]
}

// checkJSON refuses what is kept as text and is no JSON. Such a text may say any
// character, as JSON writes it.
func checkJSON(field string, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	return perdure.CheckDocumentBytes(field, raw, perdure.DocumentRules{Workers: true})
}

// checkMetadata checks an execution's metadata, whose members are compared as text:
// half of a pair of surrogates is none.
func checkMetadata(raw json.RawMessage) error {
	if err := checkJSON("metadata", raw); err != nil {
		return err
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++ // what is escaped, which is there
		if raw[i] != 'u' {
			continue
		}
		first := escaped(raw[i+1:])
		i += 4
		if !utf16.IsSurrogate(first) {
			continue
		}
		rest := raw[i+1:]
		if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' || utf16.DecodeRune(first, escaped(rest[2:])) == unicode.ReplacementChar {
			return perdure.FieldErrorf("metadata", `holds \u%04x, which is half of a pair of surrogates and no character`, first)
		}
		i += 6
	}
	return nil
}

// escaped is what four hexadecimal digits stand for.
func escaped(digits []byte) rune {
	n, err := strconv.ParseUint(string(digits[:4]), 16, 16)
	if err != nil {
		return unicode.ReplacementChar // JSON that is valid has digits here
	}
	return rune(n)
}

// mended is an error whose words every store can keep: an execution or a task
// whose end could not be stored would never end.
func mended(e *perdure.TaskError) *perdure.TaskError {
	if e == nil {
		return nil
	}
	m := *e
	m.Code, m.Message = perdure.Code(perdure.ValidText(string(e.Code))), perdure.ValidText(e.Message)
	return &m
}
