package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/viper"

	"agentd/hookpoints"
	"agentd/revision"
)

// Live are the settings that are read while the daemon runs and that no revision freezes.
type Live struct {
	Listen           string        // "" or 127.0.0.1:PORT
	LogLevel         slog.Level    // default info
	KeyFile          string        // of the state's database, absolute; "" is none
	UserKeyFile      string        // of the user's own database
	QuestionsTimeout time.Duration // default 24 h
	AllowUnconfined  bool          // from the user's layer only
	RequireSignature []string      // likewise: the public keys that may sign the project's revisions
	Clients          Clients
}

// ReadLive reads the scalar settings: the user's file, the project's over it, AGENTD_ variables over
// both (AGENTD_LOG_LEVEL is log.level).
func ReadLive(p Places, getenv func(string) string) (Live, error) {
	v := viper.New()
	v.SetConfigType("yaml")
	v.SetDefault("log.level", "info")
	v.SetDefault("questions.timeout", "24h")
	user := v.GetBool("allow_unconfined")
	var signers []string
	keys := keyFiles{places: p, home: getenv("HOME")}
	var clients Clients
	for _, l := range []hookpoints.Layer{hookpoints.User, hookpoints.Project} {
		dir := p.LayerDir(l)
		if dir == "" {
			continue
		}
		file := filepath.Join(dir, revision.ConfigFile)
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Live{}, err
		}
		if l == hookpoints.Project && p.Foreign { // but for the key, without which its database can't be read
			if err := keys.read(l, text); err != nil {
				return Live{}, fmt.Errorf("%s: %w", file, err)
			}
			if err := clients.read(l, text); err != nil { // what it closes does no harm
				return Live{}, fmt.Errorf("%s: %w", file, err)
			}
			continue
		}
		if err := v.MergeConfig(bytes.NewReader(text)); err != nil {
			return Live{}, fmt.Errorf("%s: %s; correct it, or move it away", file, plain(err))
		}
		if err := keys.read(l, text); err != nil {
			return Live{}, fmt.Errorf("%s: %w", file, err)
		}
		if err := clients.read(l, text); err != nil {
			return Live{}, fmt.Errorf("%s: %w", file, err)
		}
		if l == hookpoints.User {
			user = v.GetBool("allow_unconfined")
			signers = v.GetStringSlice("require_signature")
			for _, key := range signers {
				if err := revision.CheckKey(key); err != nil {
					return Live{}, fmt.Errorf("%s: require_signature: %w", file, err)
				}
			}
		}
	}
	for _, key := range []string{"listen", "log.level", "questions.timeout"} {
		if s := getenv("AGENTD_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))); s != "" {
			v.Set(key, s)
		}
	}
	var err error
	live := Live{Listen: v.GetString("listen"), AllowUnconfined: user, RequireSignature: signers, Clients: clients}
	if live.KeyFile, live.UserKeyFile, err = keys.found(getenv); err != nil {
		return live, err
	}
	if err := live.LogLevel.UnmarshalText([]byte(v.GetString("log.level"))); err != nil {
		return live, fmt.Errorf("log.level is %q, want debug, info, warn or error", v.GetString("log.level"))
	}
	if live.QuestionsTimeout, err = time.ParseDuration(v.GetString("questions.timeout")); err != nil || live.QuestionsTimeout <= 0 {
		return live, fmt.Errorf("questions.timeout is %q, want one like 24h", v.GetString("questions.timeout"))
	}
	return live, nil
}

// plain is what the YAML library says, in one line and without its preambles.
func plain(err error) string {
	var parse viper.ConfigParseError
	if errors.As(err, &parse) {
		err = parse.Unwrap()
	}
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:")
	return strings.Join(strings.Fields(text), " ")
}
