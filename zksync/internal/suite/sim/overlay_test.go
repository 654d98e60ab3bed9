package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// repository is where the files of the edits are, seen from the package.
const repository = "../../../.."

// A mistake is one that a lock library can make. Edits of the library make it on
// demand; no test has a seam in the library itself.
type mistake struct {
	name  string
	is    string // what goes wrong
	with  string // a mistake that has to be made, too, for this one to do harm
	aid   bool   // it only goes with others
	kind  string // the programs that find it; "": those of mutexes and the families
	edits []edit
}

// edit replaces a text that a file has exactly once. The text that errs asks with
// mistake("Name") whether to err, and otherwise does what the other one does.
type edit struct{ file, stands, errs string }

// change is an edit, and the mistake that it is for.
type change struct {
	mistake string
	edit
}

// mistakes are all deliberate mistakes.
func mistakes() []mistake {
	return slices.Concat(connMistakes, queueMistakes, censusMistakes, localMistakes, electionMistakes)
}

// added is the file that each edited package gets.
const added = "deliberate_mistakes.go"

const addedText = `package %s

import (
	"os"
	"slices"
	"strings"
)

var mistakes = strings.Split(os.Getenv("ZKSYNC_MISTAKE"), ",")

// mistake reports whether this process is to make the mistake.
func mistake(name string) bool { return slices.Contains(mistakes, name) }
`

var switches = regexp.MustCompile(`mistake\("(.*?)"\)`)

// checkMistakes checks that the edits and the mistakes belong together.
func checkMistakes(all []mistake) error {
	known := make(map[string]bool)
	for _, m := range all {
		if known[m.name] {
			return fmt.Errorf("there are two deliberate mistakes %s", m.name)
		}
		known[m.name] = true
	}
	for _, m := range all {
		if m.is == "" || len(m.edits) == 0 {
			return fmt.Errorf("the deliberate mistake %s has no text or no edit", m.name)
		}
		if m.with != "" && !known[m.with] {
			return fmt.Errorf("the deliberate mistake %s goes with %s, which does not exist", m.name, m.with)
		}
		for _, e := range m.edits {
			var names []string
			for _, match := range switches.FindAllStringSubmatch(e.errs, -1) {
				names = append(names, match[1])
				if !known[match[1]] {
					return fmt.Errorf("an edit of %s for the deliberate mistake %s asks for %s, which does not exist", e.file, m.name, match[1])
				}
			}
			if !slices.Contains(names, m.name) {
				return fmt.Errorf("an edit of %s for the deliberate mistake %s does not ask for it", e.file, m.name)
			}
		}
	}
	return nil
}

// splice makes changes in a text. Each has to find its own exactly once, where no
// other one changes anything.
func splice(text string, changes []change) (string, error) {
	at := func(c change) int { return strings.Index(text, c.stands) }
	var bad []error
	for _, c := range changes {
		if n := strings.Count(text, c.stands); n != 1 {
			bad = append(bad, fmt.Errorf("an edit for the deliberate mistake %s finds its text %d times instead of once in %s; the text is:\n%s",
				c.mistake, n, c.file, c.stands))
		}
	}
	if len(bad) > 0 {
		return "", errors.Join(bad...)
	}
	changes = slices.SortedFunc(slices.Values(changes), func(a, b change) int { return at(a) - at(b) })
	var out strings.Builder
	done := 0
	for i, c := range changes {
		if at(c) < done {
			return "", fmt.Errorf("the edits for the deliberate mistakes %s and %s overlap in %s", changes[i-1].mistake, c.mistake, c.file)
		}
		out.WriteString(text[done:at(c)] + c.errs)
		done = at(c) + len(c.stands)
	}
	return out.String() + text[done:], nil
}

// rewrite makes changes in a file's text, and formats the result. Each change has
// to leave a text that parses also without the others.
func rewrite(text string, changes []change) ([]byte, error) {
	all, err := splice(text, changes)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		one, err := splice(text, []change{c})
		if err != nil {
			return nil, err
		}
		if _, err := parser.ParseFile(token.NewFileSet(), c.file, one, parser.SkipObjectResolution); err != nil {
			return nil, fmt.Errorf("an edit for the deliberate mistake %s: %w", c.mistake, err)
		}
	}
	return format.Source([]byte(all))
}

// writeOverlay writes the files with all edits made into a directory, and the JSON
// file by which the go command's -overlay has them stand for the library's. It
// returns the JSON file and the directories of the packages.
func writeOverlay(dir string, all []mistake) (overlay string, packages []string, err error) {
	if err := checkMistakes(all); err != nil {
		return "", nil, err
	}
	root, err := filepath.Abs(repository)
	if err != nil {
		return "", nil, err
	}
	files := make(map[string][]change)
	for _, m := range all {
		for _, e := range m.edits {
			files[e.file] = append(files[e.file], change{m.name, e})
		}
	}
	replace := make(map[string]string)
	put := func(file string, text []byte) error {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		replace[filepath.Join(root, file)] = to
		return os.WriteFile(to, text, 0o600)
	}
	var bad []error
	for _, file := range slices.Sorted(maps.Keys(files)) {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			bad = append(bad, fmt.Errorf("an edit for the deliberate mistake %s: %w", files[file][0].mistake, err))
			continue
		}
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		text, err = rewrite(string(text), files[file])
		if err != nil {
			bad = append(bad, err)
			continue
		}
		if err := put(file, text); err != nil {
			return "", nil, err
		}
		pkg := "./" + file[:strings.LastIndex(file, "/")]
		if slices.Contains(packages, pkg) {
			continue
		}
		packages = append(packages, pkg)
		if _, err := os.Stat(filepath.Join(root, pkg, added)); !errors.Is(err, fs.ErrNotExist) {
			return "", nil, fmt.Errorf("%s/%s: want no such file (%v)", pkg, added, err)
		}
		clause, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly)
		if err != nil {
			return "", nil, err
		}
		if err := put(pkg[len("./"):]+"/"+added, fmt.Appendf(nil, addedText, clause.Name)); err != nil {
			return "", nil, err
		}
	}
	if len(bad) > 0 {
		return "", nil, errors.Join(bad...)
	}
	text, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return "", nil, err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, packages, os.WriteFile(overlay, text, 0o600)
}
