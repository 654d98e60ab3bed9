// Package schematest compares documents of JSON, and the Go types that make them, with
// their schema, in tests.
package schematest

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compiled has the schemas that were compiled, by their location.
var compiled sync.Map // of *jsonschema.Schema

// Check checks a document against a schema, and against definitions of that schema.
func Check(t testing.TB, file, text string, definitions ...string) {
	t.Helper()
	at := []string{file}
	for _, d := range definitions {
		at = append(at, file+"#/$defs/"+d)
	}
	for _, at := range at {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err == nil {
			err = compile(t, at).Validate(doc)
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", at, err, text)
		}
	}
}

func compile(t testing.TB, at string) *jsonschema.Schema {
	t.Helper()
	if s, ok := compiled.Load(at); ok {
		return s.(*jsonschema.Schema)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile(at)
	if err != nil {
		t.Fatal(err)
	}
	compiled.Store(at, s)
	return s
}

// Fields checks that definitions of a schema have every field of Go structs, and no other,
// and that a field is required unless its tag has an option.
func Fields(t *testing.T, file string, structs map[string]any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for name, v := range structs {
		def := schema.Defs[name]
		var fields []string
		for i := range reflect.TypeOf(v).NumField() {
			field, option, _ := strings.Cut(reflect.TypeOf(v).Field(i).Tag.Get("json"), ",")
			fields = append(fields, field)
			if len(def.Properties[field]) == 0 {
				t.Errorf("%s: no field %q", name, field)
			}
			if required := slices.Contains(def.Required, field); required != (option == "") {
				t.Errorf("%s: field %q is required: %v, and its option is %q", name, field, required, option)
			}
		}
		if len(fields) != len(def.Properties) {
			t.Errorf("%s has the fields %q, and the schema has %d", name, fields, len(def.Properties))
		}
	}
}
