package hookpoints

import "agentd/hookpoints/contract"

// elicitPoint: respond gives the answer, which must fit the question; reject declines.
func elicitPoint() *Point {
	kinds := func(words ...string) contract.Type { return contract.OneOf(words...) }
	part := contract.Type{Kinds: contract.Obj.Kinds, Required: []string{"name", "kind", "prompt", "required", "options"}, Closed: true, Members: []contract.Field{
		req("name", contract.Str), req("kind", kinds("text", "choice", "multi", "secret", "confirmation", "validated")), req("prompt", contract.Str),
		req("required", contract.Bool), req("options", contract.Strs), opt("schema", contract.Obj)}}
	return &Point{Name: "elicit", Phase: Before, Allows: SetOf(Respond, Reject),
		Fires: "Before a person is asked, by the model or by the host. The value of a respond is the answer, and must fit the question; that of a secret is a handle. Reject declines.",
		Contract: contract.New([]contract.Field{
			req("kind", kinds("text", "choice", "multi", "secret", "confirmation", "form", "validated")), req("prompt", contract.Str),
			req("options", contract.Strs), req("fields", contract.ListOf(part)), req("sensitive", contract.Bool), opt("schema", contract.Obj)}),
		Example: example(`{"kind":"choice","prompt":"Which branch?","options":["main","next"],"fields":[],"sensitive":false}`)}
}
