package config

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/spf13/viper"

	"agentd/hookpoints"
)

// Clients is what becomes of clients' events that can't be decided: a hook's program fails, or it is late.
// At points that neither names the default holds.
type Clients struct {
	Open   []string // the client goes on; from the user's layer only
	Closed []string // what the event is about doesn't happen; wins over Open
}

// read takes one agentd.yaml, which is known to be YAML.
func (c *Clients) read(l hookpoints.Layer, text []byte) error {
	v := viper.New() // of this file alone, as lists of layers add up
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(text)); err != nil {
		return err
	}
	catalogue := hookpoints.Standard()
	for _, key := range []string{"clients.open", "clients.closed"} {
		for _, point := range v.GetStringSlice(key) {
			if catalogue.Point(point) == nil {
				return fmt.Errorf("%s names the point %q, which there isn't; see agentd points", key, point)
			}
		}
	}
	c.Closed = append(c.Closed, v.GetStringSlice("clients.closed")...)
	if l == hookpoints.User {
		c.Open = append(c.Open, v.GetStringSlice("clients.open")...)
	} else if v.IsSet("clients.open") {
		return errors.New("clients.open counts in your own agentd.yaml only, as it lets clients go on unasked")
	}
	return nil
}
