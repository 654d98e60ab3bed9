//go:build unix

package main

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

// secretFile writes a file with passwords.
func secretFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// saslToken sends a request sasl on a connection with a session, and returns the token in
// the answer, or the error's code.
func saslToken(t *testing.T, nc net.Conn, token string) (answer string, code int32) {
	t.Helper()
	const opSASL = 102
	frame := binary.BigEndian.AppendUint32(nil, uint32(12+len(token)))
	frame = binary.BigEndian.AppendUint32(frame, 1) // xid
	frame = binary.BigEndian.AppendUint32(frame, opSASL)
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(token)))
	if _, err := nc.Write(append(frame, token...)); err != nil {
		t.Fatal(err)
	}
	header := make([]byte, 4)
	if _, err := io.ReadFull(nc, header); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint32(header)) // xid, zxid, code, length of the token, token
	if _, err := io.ReadFull(nc, body); err != nil {
		t.Fatal(err)
	}
	return string(body[min(20, len(body)):]), int32(binary.BigEndian.Uint32(body[12:]))
}

// authenticate proves a name to a server by SASL, mechanism DIGEST-MD5, and returns the
// server's proof that it knows the password, or the error's code.
func authenticate(t *testing.T, addr, user, password string) (proof string, code int32) {
	t.Helper()
	nc := rawSession(t, addr)
	challenge, code := saslToken(t, nc, "")
	nonce := regexp.MustCompile(`nonce="([^"]*)"`).FindStringSubmatch(challenge)
	if code != 0 || nonce == nil {
		return "", code
	}
	hash := func(s string) string { h := md5.Sum([]byte(s)); return string(h[:]) }
	hexed := func(s string) string { return hex.EncodeToString([]byte(s)) }
	const realm, uri, cnonce = "zk-sasl-md5", "zookeeper/zk-sasl-md5", "c"
	secret := hexed(hash(hash(user+":"+realm+":"+password) + ":" + nonce[1] + ":" + cnonce))
	response := hexed(hash(secret + ":" + nonce[1] + ":00000001:" + cnonce + ":auth:" + hexed(hash("AUTHENTICATE:"+uri))))
	return saslToken(t, nc, fmt.Sprintf(`username="%s",realm="%s",nonce="%s",nc=00000001,cnonce="%s",digest-uri="%s",maxbuf=65536,response=%s,qop=auth,charset=utf-8`,
		user, realm, nonce[1], cnonce, uri, response))
}

// rawSession returns a connection with a new session.
func rawSession(t *testing.T, addr string) net.Conn {
	t.Helper()
	nc, err := net.DialTimeout("tcp", addr, proctest.Limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(proctest.Limit))
	if _, err := nc.Write(connectRequest(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var answer [40]byte // length, version, timeout, session, password, readOnly
	if _, err := io.ReadFull(nc, answer[:]); err != nil {
		t.Fatal(err)
	}
	if more := binary.BigEndian.Uint32(answer[:]) - 36; more > 0 {
		if _, err := io.CopyN(io.Discard, nc, int64(more)); err != nil {
			t.Fatal(err)
		}
	}
	return nc
}

// The users of the file, or of the environment, can authenticate by SASL, and nobody else.
func TestServeSASL(t *testing.T) {
	t.Parallel()
	const list = "bob:bobs\n\nalice:a:b \r\n"
	inFile := proctest.Prepare(t, roleCommand, "serve", "--listen", "127.0.0.1:0", "--verbose", "--sasl-users-file", secretFile(t, list))
	inEnv := proctest.Prepare(t, roleCommand, "serve", "--listen", "127.0.0.1:0", "--verbose")
	inEnv.Env = append(inEnv.Env, envSASLUsers+"="+list)
	for where, p := range map[string]*proctest.Process{"file": inFile, "environment": inEnv} {
		p.Start()
		addr := "127.0.0.1:" + p.Out.Await(t, "127.0.0.1:")
		for _, tt := range []struct {
			user, password string
			code           int32
		}{
			{"bob", "bobs", 0}, {"alice", "a:b ", 0}, {"bob", "a:b ", -115}, {"carol", "bobs", -115},
		} {
			proof, code := authenticate(t, addr, tt.user, tt.password)
			if code != tt.code || strings.HasPrefix(proof, "rspauth=") != (code == 0) {
				t.Errorf("%s: %s with %q: %q, code %d, want %d", where, tt.user, tt.password, proof, code, tt.code)
			}
		}
		for _, secret := range []string{"bobs", "a:b"} {
			if strings.Contains(p.Err.String(), secret) || strings.Contains(strings.Join(p.Args, " "), secret) {
				t.Errorf("%s: the password %s is shown", where, secret)
			}
		}
	}
	_, addr := serving(t)
	if _, code := authenticate(t, addr, "bob", "bobs"); code != 0 {
		t.Errorf("without users: code %d, want an answer without a token", code)
	}
}

// The user super can reconfigure, with the flag.
func TestServeReconfig(t *testing.T) {
	t.Parallel()
	const password = "su:per"
	inFile := proctest.Prepare(t, roleCommand, "serve", "--listen", "127.0.0.1:0", "--members", "2", "--reconfig",
		"--super-password-file", secretFile(t, password+"\n"))
	inEnv := proctest.Prepare(t, roleCommand, "serve", "--listen", "127.0.0.1:0", "--members", "2", "--reconfig")
	inEnv.Env = append(inEnv.Env, envSuper+"="+password)
	disabled := proctest.Prepare(t, roleCommand, "serve", "--listen", "127.0.0.1:0", "--super-password-file", secretFile(t, password))
	for where, p := range map[string]*proctest.Process{"file": inFile, "environment": inEnv, "disabled": disabled} {
		p.Start()
		p.Out.Await(t, "127.0.0.1:")
		c := plainClient(t, strings.Split(strings.TrimSpace(p.Out.String()), ",")[0])
		_, before := c.IncrementalReconfig(nil, []string{"2"}, -1)
		if err := c.AddAuth("digest", []byte("super:"+password)); err != nil {
			t.Fatal(err)
		}
		_, err := c.IncrementalReconfig(nil, []string{"2"}, -1)
		data, _, readErr := c.Get("/zookeeper/config")
		if where == "disabled" {
			if !errors.Is(err, zk.ErrReconfigDisabled) {
				t.Errorf("%s: %v", where, err)
			}
			continue
		}
		if !errors.Is(before, zk.ErrNoAuth) || err != nil || readErr != nil || strings.Contains(string(data), "server.2") {
			t.Errorf("%s: as nobody %v, as super %v; %q, %v", where, before, err, data, readErr)
		}
	}
}

func TestServeUsersFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ flag, text, says string }{
		{"--sasl-users-file", "bob:bobs\nsecret", "--sasl-users-file: line 2: want name:password"},
		{"--sasl-users-file", ":secret", "line 1: want name:password"},
		{"--sasl-users-file", "secret:", "line 1: want name:password"},
		{"--sasl-users-file", "bob:secret\nbob:other", `line 2: the user "bob" is there already`},
		{"--sasl-users-file", "\n", " is empty"},
		{"--super-password-file", "", " is empty"},
	} {
		refusal{"--listen 127.0.0.1:0 " + tt.flag + " " + secretFile(t, tt.text), exit.Usage, tt.says}.check(t)
	}
	for _, tt := range []refusal{
		{"--reconfig", exit.Usage, "--reconfig is for the user super, who has no password: give --super-password-file or set ZKSYNC_SUPER_PASSWORD"},
		{"--sasl-users-file /none", exit.Usage, "--sasl-users-file: open /none: no such file"},
		{"--super-password-file /none", exit.Usage, "--super-password-file: open /none: no such file"},
	} {
		tt.flags = "--listen 127.0.0.1:0 " + tt.flags
		tt.check(t)
	}
	p := proctest.Prepare(t, roleCommand, "serve", "--listen", "127.0.0.1:0")
	p.Env = append(p.Env, envSASLUsers+"=secret")
	p.Start()
	p.WantCode(exit.Usage)
	if said := p.Err.String(); !strings.Contains(said, envSASLUsers+": line 1: want name:password") || strings.Contains(said, "secret") {
		t.Errorf("stderr %q", said)
	}
}
