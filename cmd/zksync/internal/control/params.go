package control

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// params are the parameters of a request by name. One that is not given is empty.
type params map[string]string

// readParams reads the parameters of a request from its query and from its body, which is
// a form or an object of JSON. A name that is not among takes is an error, since a fault
// that was misspelt would never come.
func readParams(r *http.Request, takes []string) (params, error) {
	p := make(params)
	if err := p.readForm(r.URL.RawQuery); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, badf("%v", err)
	}
	// curl -d says that anything is a form. No form begins with a brace.
	if text := strings.TrimSpace(string(body)); strings.HasPrefix(text, "{") {
		err = p.readJSON(text)
	} else {
		err = p.readForm(text)
	}
	if err != nil {
		return nil, err
	}
	for name := range p {
		if !slices.Contains(takes, name) {
			want := "there are none"
			if len(takes) > 0 {
				want = "want " + strings.Join(takes, ", ")
			}
			return nil, badf("unknown parameter %q: %s", name, want)
		}
	}
	return p, nil
}

// readForm reads parameters from a query or a form.
func (p params) readForm(text string) error {
	form, err := url.ParseQuery(text)
	if err != nil {
		return badf("%v", err)
	}
	for name, values := range form {
		for _, v := range values {
			if err := p.set(name, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// set sets a parameter that is not set yet.
func (p params) set(name, value string) error {
	if _, twice := p[name]; twice {
		return badf("the parameter %q is given more than once", name)
	}
	p[name] = value
	return nil
}

// readJSON reads parameters from an object.
func (p params) readJSON(text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // the number of a session has more digits than a float
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return badf("the body is not an object of JSON: %v", err)
	}
	if d.More() {
		return badf("the body has more than one object of JSON")
	}
	for name, v := range object {
		switch v.(type) {
		case string, json.Number, bool:
			if err := p.set(name, fmt.Sprint(v)); err != nil {
				return err
			}
		case nil: // as if it were not there
		default:
			return badf("the parameter %q is neither a text nor a number, true or false", name)
		}
	}
	return nil
}

// duration returns a time in Go's notation or in seconds, or other if it is not given.
func (p params) duration(name string, other time.Duration) (time.Duration, error) {
	text := p[name]
	if text == "" {
		return other, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		n, ferr := strconv.ParseFloat(text, 64)
		if ferr != nil || math.IsNaN(n) || math.Abs(n) >= math.MaxInt64/float64(time.Second) {
			return 0, badf("%s=%q: want a time like 250ms, 1m30s or plain seconds", name, text)
		}
		d = time.Duration(n * float64(time.Second))
	}
	if d < 0 {
		return 0, badf("%s=%q: must not be negative", name, text)
	}
	return d, nil
}

// count returns a number from 1, which is the default.
func (p params) count() (int, error) {
	text := p["count"]
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxCount {
		return 0, badf("count=%q: want a number from 1 to %d", text, maxCount)
	}
	return n, nil
}

// yes returns whether a parameter is true. Without it, it is not.
func (p params) yes(name string) (bool, error) {
	switch p[name] {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, badf("%s=%q: want true or false", name, p[name])
}

// oneOf returns the value of a parameter that has to be one of a few, and may be empty if
// they say so.
func (p params) oneOf(name string, values ...string) (string, error) {
	if !slices.Contains(values, p[name]) {
		return "", badf("%s=%q: want %s", name, p[name], strings.Join(slices.DeleteFunc(values, func(v string) bool { return v == "" }), " or "))
	}
	return p[name], nil
}

// path returns the path of a node in a parameter, which may be empty. A path in a match may
// end with a slash: so does that of a request that creates a node whose name is a number.
func (p params) path(name string, inMatch bool) (string, error) {
	text := p[name]
	switch why := badPath(text); {
	case text == "":
		return "", nil
	case why != "":
		return "", badf("%s=%q: %s", name, text, why)
	case !inMatch && text != "/" && strings.HasSuffix(text, "/"):
		return "", badf("%s=%q: a path does not end with a slash", name, text)
	}
	return text, nil
}

// badPath says why no request of a client can have a path, or returns nothing. It takes a
// slash at the end.
func badPath(path string) string {
	if !strings.HasPrefix(path, "/") {
		return "a path starts with a slash"
	}
	for element := range strings.SplitSeq(strings.TrimSuffix(path[1:], "/"), "/") {
		switch element {
		case "":
			if path != "/" {
				return "a path has no empty element"
			}
		case ".", "..":
			return fmt.Sprintf("a path has no element %q", element)
		}
	}
	return ""
}

// parseSession returns the session of a parameter: its number in decimal, as clients have
// it, or in hex after 0x, as the documents of this package have it.
func parseSession(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 0, 64)
	if err != nil || id == 0 {
		return 0, badf("session=%q: want the number of a session, as in 0x100000000000001 or 72057594037927937", text)
	}
	return id, nil
}
