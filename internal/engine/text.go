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

// checkTexts refuses a request that contains a text which not every store can hold; the error names
// the first one. It visits all fields by reflection, so that none is forgotten. Contents are bytes
// and are not checked. The texts of errors are not refused; mended repairs them. at is the place of
// the request in error messages, "" for the top.
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

// badText returns a text in v that not every store can hold, and its place in v; "" if there is
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

// nameOf returns the name of a field in JSON, which clients and workers use.
func nameOf(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
		return name
	}
	return strings.ToLower(f.Name[:1]) + f.Name[1:]
}

// checkJSON checks a value that is stored as JSON text. It may contain any character, escaped as in
// JSON.
func checkJSON(field string, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	return perdure.CheckDocumentBytes(field, raw, perdure.DocumentRules{Workers: true})
}

// checkMetadata checks an execution's metadata. Its members are compared as text, so half of a
// surrogate pair is refused: it is not a character.
func checkMetadata(raw json.RawMessage) error {
	if err := checkJSON("metadata", raw); err != nil {
		return err
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++ // the escaped character, which valid JSON has
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

// escaped returns the character of four hexadecimal digits.
func escaped(digits []byte) rune {
	n, err := strconv.ParseUint(string(digits[:4]), 16, 16)
	if err != nil {
		return unicode.ReplacementChar // unreachable: valid JSON has digits here
	}
	return rune(n)
}

// mended returns the error with texts that every store can hold. Otherwise the end of an execution
// or a task could not be stored, and it would never end.
func mended(e *perdure.TaskError) *perdure.TaskError {
	if e == nil {
		return nil
	}
	m := *e
	m.Code, m.Message = perdure.Code(perdure.ValidText(string(e.Code))), perdure.ValidText(e.Message)
	return &m
}
