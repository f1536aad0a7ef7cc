// Package revision turns the files of a layer into bindings, and freezes them.
//
// [Build] loads a layer: scripts, modules and agentd.yaml become a [Layer] with its bindings, its
// agents and its manifest, or a list of faults. The manifest is canonical JSON, and its hash is the
// layer's id: the same files give the same id in every folder and on every machine. A [Planner]
// composes the three layers of a [operation.Triple] into a [Generation], which plans chains; it is
// immutable, so a run that is pinned to one isn't touched by what is published later.
package revision
