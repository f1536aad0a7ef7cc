package hookpoints

import "agentd/hookpoints/contract"

// clientPoints are those that the events of other agents' programs fire first.
func clientPoints() []*Point {
	return []*Point{
		{Name: "tools.select", Phase: Before, Writable: []string{"tools", "mode"}, Allows: SetOf(Patch, Stop),
			Fires:    "Before a request to a model, when it is chosen which tools it may call. Tools can only become fewer.",
			Contract: contract.New([]contract.Field{req("tools", contract.Strs), req("mode", contract.OneOf("auto", "any", "none"))}),
			Example:  example(`{"tools":["read_file","shell"],"mode":"auto"}`)},
		{Name: "notification", Phase: After, Observation: true, Allows: SetOf(Effect),
			Fires:    "When an agent tells its person something. The kind is the agent's own word.",
			Contract: contract.New([]contract.Field{req("kind", contract.Str), req("message", contract.Str)}),
			Example:  example(`{"kind":"ToolPermission","message":"The tool shell wants to run."}`)},
		{Name: "cwd.changed", Phase: After, Allows: SetOf(Context),
			Fires:    "When the working folder became another one.",
			Contract: contract.New([]contract.Field{req("old", contract.Str), req("new", contract.Str)}),
			Example:  example(`{"old":"/home/user/project","new":"/home/user/project/web"}`)},
		{Name: "client.event", Phase: Before, Allows: SetOf(Reject, Context),
			Fires:    "With each event of a client that has no point of its own. Whether a rejection or context reaches it depends on the client.",
			Contract: contract.New([]contract.Field{req("client", contract.Str), req("event", contract.Str), req("raw", contract.Obj)}),
			Example:  example(`{"client":"claude","event":"ConfigChange","raw":{"hook_event_name":"ConfigChange","source":"project_settings"}}`)},
	}
}
