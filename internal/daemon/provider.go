package daemon

import (
	"fmt"
	"path/filepath"

	"agentd/internal/model"
	"agentd/revision"
)

// provider makes the model of a configuration. Keys are read from the environment now, and are
// nowhere else.
func (d *Daemon) provider(m revision.Model) (model.Provider, error) {
	switch m.Provider {
	case "scripted", "":
		if m.File == "" {
			return model.DefaultScenario(), nil
		}
		file := m.File
		if !filepath.IsAbs(file) {
			file = filepath.Join(d.o.Places.Project, file)
		}
		return model.OpenScenario(file)
	case "openai":
		o := model.OpenAIOptions{BaseURL: m.BaseURL, KeyEnv: m.APIKeyEnv, Client: d.models}
		if m.APIKeyEnv != "" {
			o.Key = d.o.Getenv(m.APIKeyEnv)
		}
		return model.NewOpenAI(o)
	}
	return nil, fmt.Errorf("the provider %q is unknown; use openai or scripted", m.Provider)
}
