package digestmd5

import (
	"errors"
	"strings"
)

// names are the directives that a response may have once. The rest are ignored, as "nc"
// is: the JDK looks for "nonce-count".
var names = map[string]bool{
	"username": true, "realm": true, "nonce": true, "cnonce": true, "nonce-count": true, "qop": true,
	"digest-uri": true, "response": true, "maxbuf": true, "charset": true, "cipher": true, "authzid": true,
	"auth-param": true,
}

var errDirectives = errors.New("the list of directives is malformed")

// directives are the values in a response, by their names in lower case.
type directives map[string]string

func (d directives) set(name, value string) error {
	name = strings.ToLower(name)
	if _, twice := d[name]; twice {
		return errDirectives
	}
	if names[name] {
		d[name] = value
	}
	return nil
}

// or returns a value, or what counts if the client gives none.
func (d directives) or(name, usual string) string {
	if v, ok := d[name]; ok {
		return v
	}
	return usual
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

func skipSpace(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	return s
}

// parse reads `name=value,name="value"`. A comma or space separates; the last name may
// do without a value.
func parse(s string) (directives, error) {
	d := make(directives)
	for s = skipSpace(s); s != ""; s = skipSpace(s) {
		if s[0] == ',' {
			s = s[1:]
			continue
		}
		name, rest, err := parseName(s)
		if err != nil {
			return nil, err
		}
		value := ""
		if rest != "" {
			if value, rest, err = parseValue(skipSpace(rest[1:])); err != nil {
				return nil, err
			}
		}
		if err := d.set(name, value); err != nil {
			return nil, err
		}
		s = rest
	}
	return d, nil
}

// parseName returns a name, and the rest, which begins with "=" unless it is empty.
func parseName(s string) (name, rest string, err error) {
	end := strings.IndexFunc(s, func(r rune) bool { return r == ',' || r == '=' || r < 0x80 && isSpace(byte(r)) })
	if end < 0 {
		return s, "", nil
	}
	name, rest = s[:end], skipSpace(s[end:])
	if name == "" || rest == "" || rest[0] != '=' {
		return "", "", errDirectives
	}
	return name, rest, nil
}

// parseValue returns a value, and what follows its separator.
func parseValue(s string) (value, rest string, err error) {
	if s == "" {
		return "", "", errDirectives
	}
	if s[0] == '"' {
		return parseQuoted(s[1:])
	}
	end := strings.IndexFunc(s, func(r rune) bool { return r == ',' || r < 0x80 && isSpace(byte(r)) })
	if end < 0 {
		return s, "", nil
	}
	return s[:end], s[end+1:], nil
}

// parseQuoted is parseValue behind the first quote.
func parseQuoted(s string) (value, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i == len(s) {
				return "", "", errDirectives
			}
			b.WriteByte(s[i])
		case '"':
			if rest = s[i+1:]; rest == "" {
				return b.String(), "", nil
			}
			if rest[0] != ',' && !isSpace(rest[0]) {
				return "", "", errDirectives
			}
			return b.String(), rest[1:], nil
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", errDirectives
}
