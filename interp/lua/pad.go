package lua

import "github.com/yuin/gopher-lua/ast"

// The compiler shortens jumps that lead to jumps, and takes one that it has shortened already for one
// that it hasn't: a jump back to a place that begins with a jump then leads anywhere. So nothing that
// is jumped back to, the body of a loop or what follows a label, may begin with one.

// padded puts a statement that does nothing before those that begin with a jump.
func padded(stmts []ast.Stmt, line int) []ast.Stmt {
	if !beginsWithJump(stmts) {
		return stmts
	}
	return append([]ast.Stmt{padding(line)}, stmts...)
}

func padding(line int) ast.Stmt {
	local := &ast.LocalAssignStmt{Names: []string{"@pad"}}
	place(local, line)
	do := &ast.DoBlockStmt{Stmts: []ast.Stmt{local}}
	place(do, line)
	return do
}

// padLabels does the same after each label. What follows the last statement of a block is no matter:
// only what stands before it can jump there.
func padLabels(stmts []ast.Stmt) []ast.Stmt {
	for i := 0; i < len(stmts); i++ {
		if _, ok := stmts[i].(*ast.LabelStmt); ok && beginsWithJump(stmts[i+1:]) {
			line := stmts[i].Line()
			stmts = append(stmts[:i+1:i+1], append([]ast.Stmt{padding(line)}, stmts[i+1:]...)...)
		}
	}
	return stmts
}

func beginsWithJump(stmts []ast.Stmt) bool {
	for _, s := range stmts {
		switch x := s.(type) {
		case *ast.LabelStmt:
			continue
		case *ast.BreakStmt, *ast.GotoStmt:
			return true
		case *ast.DoBlockStmt:
			if len(x.Stmts) == 0 {
				continue
			}
			return beginsWithJump(x.Stmts)
		case *ast.RepeatStmt:
			return len(x.Stmts) == 0 && isConstant(x.Condition) || beginsWithJump(x.Stmts)
		case *ast.IfStmt:
			return isConstant(x.Condition)
		case *ast.WhileStmt:
			return isConstant(x.Condition)
		}
		return false
	}
	return false
}

// isConstant reports whether the compiler knows which way a condition goes, or begins to know.
func isConstant(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr, *ast.NumberExpr, *ast.StringExpr:
		return true
	case *ast.UnaryNotOpExpr:
		return isConstant(x.Expr)
	case *ast.LogicalOpExpr:
		return isConstant(x.Lhs)
	}
	return false
}
