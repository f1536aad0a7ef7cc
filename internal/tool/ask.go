package tool

import (
	"context"

	"agentd/hookpoints/payload"
	"agentd/internal/elicit"
)

// Asker is a tool whose calls are questions to a person. Whoever runs the operations puts them, as
// parts of the call; its Call can't.
type Asker interface {
	Tool

	// Question reads what is asked. The error wraps elicit.ErrQuestion.
	Question(arguments payload.Value) (elicit.Question, error)
}

type ask struct{}

// Spec implements Tool.
func (ask) Spec() Spec {
	words := make([]string, len(elicit.Kinds))
	for i, k := range elicit.Kinds {
		words[i] = string(k)
	}
	kinds := payload.Field{Name: "enum", Value: payload.NewStrings(words)}
	list := func(name, description string, items payload.Value) payload.Field {
		return param(name, "array", description, payload.Field{Name: "items", Value: items})
	}
	options := list("options", "the texts to choose from, for choice and multi", object(text("type", "string")))
	prompt := stringParam("prompt", "the question, in one or a few sentences", integer("minLength", 1))
	schema := param("schema", "object", "for validated: the JSON Schema of the answer, without references")
	short := []payload.Field{
		stringParam("pattern", "for validated: a regular expression that the text must match, instead of a schema"),
		integerParam("min", "for validated: the least number of characters, instead of a schema", atLeast(0)),
		integerParam("max", "for validated: the greatest number of characters, instead of a schema", atLeast(0)),
	}
	part := parameters(2, append([]payload.Field{
		stringParam("name", "the name of the field: a letter, then letters, digits and _"),
		stringParam("kind", "what the answer is, but form", kinds),
		stringParam("prompt", "the question; default the name"),
		boolParam("required", "whether it must be answered; default false"),
		options, schema,
	}, short...)...)
	return Spec{
		Name: "ask", ID: "ask", Kind: KindAsk, ReadOnly: true,
		Description: "Asks the person that you work for, and gives {answer}. They may decline, or nobody may be there: then it gives {declined, reason}, and you go on without. " +
			"Kinds: text; choice (one of the options); multi (a list of options); confirmation (true or false); validated (a value that fits a schema); form (an object of several named fields); " +
			"secret (a password or key: you get a handle like secret:NAME:... which stands for the value; put the handle into the arguments of other tools where the value belongs, and never ask for the value itself).",
		Parameters: parameters(2, append([]payload.Field{
			stringParam("kind", "what the answer is", kinds), prompt, options, list("fields", "the fields of a form", part), schema,
		}, short...)...),
	}
}

// Question implements Asker.
func (ask) Question(arguments payload.Value) (elicit.Question, error) {
	return elicit.Parse(arguments)
}

// Call implements Tool.
func (ask) Call(context.Context, Invocation) Result {
	return Errorf("nobody can be asked here")
}
