package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

// definition is an interp.Definition as it crosses: without its hook, which stays where it is.
type definition struct {
	interp.Definition
	ConfigSchema payload.Value `json:",omitzero"`
	Default      payload.Value `json:",omitzero"`
	Hook         *struct{}     `json:",omitempty"`
	Asks         bool          // its facts are a function
}

func packDefinitions(defs []interp.Definition) (payload.Value, error) {
	out := make([]definition, len(defs))
	for i, d := range defs {
		_, asks := d.Hook.(hookpoints.FactAsker)
		out[i] = definition{Definition: d, ConfigSchema: d.ConfigSchema, Default: d.Default, Asks: asks}
		out[i].Definition.Hook = nil
	}
	text, err := json.Marshal(out)
	if err != nil {
		return payload.Value{}, err
	}
	return payload.Parse(text)
}

// maxDefinitions bounds what one file defines.
const maxDefinitions = 1000

// unpackDefinitions reads definitions as if somebody hostile had written them: what an engine promises of
// a definition is checked again. Ids, points and schemas are checked by whoever binds them.
func unpackDefinitions(v payload.Value) ([]definition, error) {
	if v.Len() > maxDefinitions {
		return nil, fmt.Errorf("%d definitions in one file, at most %d are taken", v.Len(), maxDefinitions)
	}
	var out []definition
	if err := json.Unmarshal(v.JSON(), &out); err != nil {
		return nil, err
	}
	for i := range out {
		d := &out[i]
		d.Definition.ConfigSchema, d.Definition.Default = d.ConfigSchema, d.Default
		if err := plausible(&d.Definition); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func plausible(d *interp.Definition) error {
	switch {
	case d.FailurePolicy != hookpoints.Block && (d.FailurePolicy != hookpoints.Continue || !d.Observation):
		return errors.New("a failure policy that can't be")
	case d.Stream != hookpoints.Held && d.Stream != hookpoints.Provisional:
		return errors.New("a stream that can't be")
	case d.Guard && (d.Observation || len(d.Effects) > 0), d.Background && !d.Observation, d.NotReplaySafe:
		return errors.New("a hook that can't be")
	case d.Timeout <= 0 || d.Timeout > time.Hour:
		return errors.New("a timeout that can't be")
	case d.ConfigSchema.Size() > hookpoints.MaxConfig || d.Default.Size() > hookpoints.MaxConfig:
		return errors.New("a config that is too large")
	}
	return nil
}
