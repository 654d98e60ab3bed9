package digestmd5

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// passwords is a set of users.
func passwords(users map[string]string) func(string) (string, bool) {
	return func(user string) (string, bool) { p, ok := users[user]; return p, ok }
}

// TestExamples plays the examples of section 4 of RFC 2831.
func TestExamples(t *testing.T) {
	for _, test := range []struct{ uri, nonce, response, proof string }{
		{"imap/elwood.innosoft.com", "OA6MG9tEQGm2hh",
			`charset=utf-8,username="chris",realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",nc=00000001,` +
				`cnonce="OA6MHXh6VqTrRk",digest-uri="imap/elwood.innosoft.com",response=d388dad90d4bbd760a152321f2143af7,qop=auth`,
			"rspauth=ea40f60335c427b5527b84dbabcdfffd"},
		{"acap/elwood.innosoft.com", "OA9BSXrbuRhWay",
			`username="chris",realm="elwood.innosoft.com",nonce="OA9BSXrbuRhWay",nc=00000001,` +
				`cnonce="OA9BSuZWMSpW8m",digest-uri="acap/elwood.innosoft.com",response=6084c6db3fede7352c551284490fd0fc,qop=auth`,
			"rspauth=2f0b3d7c3c2e486600ef710726aa2eae"},
	} {
		x := Exchange{Realm: "elwood.innosoft.com", URI: test.uri, Nonce: test.nonce, Password: passwords(map[string]string{"chris": "secret"})}
		challenge, err := x.Next(nil)
		if want := `realm="elwood.innosoft.com",nonce="` + test.nonce + `",charset=utf-8,algorithm=md5-sess`; err != nil || string(challenge) != want {
			t.Fatalf("challenge %q, %v, want %q", challenge, err, want)
		}
		if _, ok := x.User(); ok {
			t.Error("there is a user before the response")
		}
		proof, err := x.Next([]byte(test.response))
		if err != nil || string(proof) != test.proof {
			t.Errorf("%s: got %q, %v, want %q", test.uri, proof, err, test.proof)
		}
		if user, ok := x.User(); user != "chris" || !ok {
			t.Errorf("user %q, %t", user, ok)
		}
		if _, err := x.Next(nil); err == nil {
			t.Error("an exchange goes on after its end")
		}
	}
}

// An error tells no password, nobody is in after it, and there is no second try.
func TestRefusal(t *testing.T) {
	const good = `username="chris",realm="r",nonce="n",cnonce="c",digest-uri="u/h",response=`
	for _, users := range []map[string]string{{"chris": "sesame"}, {"eve": "sesame"}, {}, nil} {
		x := Exchange{Realm: "r", URI: "u/h", Nonce: "n", Password: passwords(users)}
		if _, err := x.Next(nil); err != nil {
			t.Fatal(err)
		}
		_, err := x.Next([]byte(good + "d388dad90d4bbd760a152321f2143af7"))
		if err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("users %v: error %v", users, err)
		}
		d, _ := parse(good)
		if _, again := x.Next([]byte(good + x.digest("AUTHENTICATE", d, users["chris"]))); again == nil {
			t.Error("a second try")
		}
		if user, ok := x.User(); ok {
			t.Errorf("user %q", user)
		}
	}
	// Who is not known has no password, not even the empty one.
	x := Exchange{Realm: "r", URI: "u/h", Nonce: "n", Password: passwords(nil)}
	_, _ = x.Next(nil)
	d, _ := parse(good + "0")
	if _, err := x.Next([]byte(good + x.digest("AUTHENTICATE", d, ""))); err == nil {
		t.Error("an unknown user has the empty password")
	}
}

func TestQuoting(t *testing.T) {
	x := Exchange{Realm: `a"b\`, Nonce: "n", Password: passwords(nil)}
	challenge, _ := x.Next(nil)
	d, err := parse(string(challenge))
	if err != nil || d["realm"] != x.Realm {
		t.Errorf("challenge %s: realm %q, %v", challenge, d["realm"], err)
	}
}

func TestNarrow(t *testing.T) {
	for s, want := range map[string]string{"abc": "abc", "pässwörd": "p\xe4ssw\xf6rd", "ä€": "ä€", "": "", "\xff": "\xff"} {
		if got := narrow(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`a=b`, `realm="x\"y" , qop = auth`, `,,qop`, `=`, `x="\`, "\t", `username="a"b`, "qop=a qop=b", "nonce-count=-1", "maxbuf= "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := parse(s)
		if (d == nil) != (err != nil) {
			t.Fatalf("%v with the error %v", d, err)
		}
		for name := range d {
			if !names[name] {
				t.Errorf("%q is kept", name)
			}
		}
		// What was read, written properly, is read as the same.
		var list []string
		for name, value := range d {
			list = append(list, name+`="`+quote(value)+`"`)
		}
		slices.Sort(list)
		again, err := parse(strings.Join(list, ", "))
		if err != nil && d != nil || len(again) != len(d) {
			t.Fatalf("%q: got %q, then %q, %v", s, d, again, err)
		}
		for name, value := range d {
			if again[name] != value {
				t.Errorf("%s: %q, then %q", name, value, again[name])
			}
		}
		x := Exchange{Nonce: "n", challenged: true, Password: passwords(nil)}
		if _, err := x.Next([]byte(s)); err == nil {
			t.Errorf("%q authenticates nobody, but is not refused", s)
		} else if errors.Is(err, ErrNumber) && !strings.Contains(strings.ToLower(s), "maxbuf") && !strings.Contains(strings.ToLower(s), "nonce-count") {
			t.Errorf("%q has no number: %v", s, err)
		}
	})
}
