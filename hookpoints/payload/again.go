package payload

// Again is the lazy tree of text that AppendJSON wrote for a value, with the depth that its Depth told: it
// isn't checked a second time. For what crosses between two processes of this program and is believed;
// text from anywhere else goes through Parse. Text that is no such text makes the tree panic when it is
// looked at. It keeps text, which must not change afterwards.
func Again(text []byte, depth int) Value {
	n := node{}
	n.set(text, depth, nil)
	return Value{&n}
}
