package dynamic

import "strings"

// property is a line of Java's format for properties.
type property struct{ key, value string }

// properties reads lines of Java's format: the key ends at "=", ":" or space, a line
// that ends with a backslash goes on with the next one, and "#" and "!" begin comments.
func properties(text string) []property {
	var list []property
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := 0; i < len(lines); i++ {
		line := strings.TrimLeft(lines[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for goesOn(line) {
			line = line[:len(line)-1]
			if i++; i < len(lines) {
				line += strings.TrimLeft(lines[i], " \t\f")
			}
		}
		list = append(list, parseProperty(line))
	}
	return list
}

// goesOn reports whether a line ends with a backslash that no other one escapes.
func goesOn(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

func parseProperty(line string) property {
	end := strings.IndexAny(line, "=: \t\f")
	if end < 0 {
		return property{key: line}
	}
	rest := strings.TrimLeft(line[end:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = rest[1:]
	}
	return property{key: line[:end], value: strings.TrimLeft(rest, " \t\f")}
}
