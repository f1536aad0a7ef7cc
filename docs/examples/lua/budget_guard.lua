-- A session that has a budget of tokens is told once when most of it is used, and ends when all of it is.
--
-- agentd.yaml: budget: {tokens: 200000} in the agent, facts: {allow: ["budget"]}

local function warn(ctx, step)
  local budget = ctx.facts.budget
  if budget == null or budget.share < ctx.config.warn_at or ctx.state.warned_of == budget.limit then
    return nil
  end
  return {
    remember{warned_of = budget.limit}, -- once, and once more where the budget was raised
    context(string.format("%d of %d tokens are used. Finish what matters most, and say what is left to do.", budget.used, budget.limit)),
  }
end

local function wall(ctx, step)
  local budget = ctx.facts.budget
  if budget == null then
    return stop("nobody can say how much is used: " .. ctx.missing.budget)
  end
  if budget.left <= 0 then
    return stop(string.format("the budget is spent: %d of %d tokens are used", budget.used, budget.limit))
  end
end

hook{
  id = "budget-warning", version = "v1", run = warn, point = "step.before", facts = {"budget"},
  config = {
    type = "object", required = {"warn_at"}, additionalProperties = false,
    properties = {warn_at = {type = "number", minimum = 0, maximum = 1}},
  },
  default = {warn_at = 0.8},
}

hook{id = "budget-wall", version = "v1", run = wall, point = "step.before", guard = true, facts = {"budget"}}
