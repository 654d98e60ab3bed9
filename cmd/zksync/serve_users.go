package main

import (
	"crypto/sha1" // of ZooKeeper's scheme digest
	"encoding/base64"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The environment variables that take the place of the files with passwords.
const (
	envSASLUsers = "ZKSYNC_SASL_USERS"
	envSuper     = "ZKSYNC_SUPER_PASSWORD"
)

// users holds the flags on who the clients of "zksync serve" are, and who may reconfigure
// it. Passwords come from files and the environment: every user of a machine sees its
// command lines.
type users struct {
	saslFile  string
	superFile string
	reconfig  bool
}

// addFlags adds the flags to f.
func (u *users) addFlags(f *pflag.FlagSet) {
	f.StringVar(&u.saslFile, "sasl-users-file", "", "let clients authenticate by SASL; `file` that has a line name:password for each user (default the value of $"+envSASLUsers+")")
	f.StringVar(&u.superFile, "super-password-file", "", "`file` that contains the password of the user super, who may do everything (default the value of $"+envSuper+")")
	f.BoolVar(&u.reconfig, "reconfig", false, "let the user super change the configuration of the ensemble")
}

// options returns what the flags mean to the server. No error of it quotes a password.
func (u *users) options() (opts []zktest.Option, err error) {
	text, from, err := secret("--sasl-users-file", u.saslFile, envSASLUsers)
	if err != nil {
		return nil, err
	}
	if text != "" {
		passwords, err := readUsers(from, text)
		if err != nil {
			return nil, err
		}
		opts = append(opts, zktest.WithSASLUsers(passwords))
	}
	super, _, err := secret("--super-password-file", u.superFile, envSuper)
	if err != nil {
		return nil, err
	}
	if super != "" {
		hash := sha1.Sum([]byte("super:" + super))
		opts = append(opts, zktest.WithSuperDigest(base64.StdEncoding.EncodeToString(hash[:])))
	}
	switch {
	case u.reconfig && super == "":
		return nil, exit.Usagef("--reconfig is for the user super, who has no password: give --super-password-file or set %s", envSuper)
	case u.reconfig:
		opts = append(opts, zktest.WithReconfig())
	}
	return opts, nil
}

// secret returns what a file or, without one, an environment variable has, and which of
// them it was. Only the variable may be empty. Line breaks at the end don't count.
func secret(flag, file, env string) (text, from string, err error) {
	if file == "" {
		return strings.TrimRight(os.Getenv(env), "\r\n"), env, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", "", exit.Usagef("%s: %w", flag, err)
	}
	if text = strings.TrimRight(string(data), "\r\n"); text == "" {
		return "", "", exit.Usagef("%s: %s is empty", flag, file)
	}
	return text, flag, nil
}

// readUsers reads a line name:password for each user. A password may have colons.
func readUsers(from, text string) (map[string]string, error) {
	passwords := make(map[string]string)
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		name, password, _ := strings.Cut(line, ":")
		if name == "" || password == "" {
			return nil, exit.Usagef("%s: line %d: want name:password", from, n)
		}
		if _, twice := passwords[name]; twice {
			return nil, exit.Usagef("%s: line %d: the user %q is there already", from, n, name)
		}
		passwords[name] = password
	}
	return passwords, nil
}
