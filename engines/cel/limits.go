package cel

const (
	// maxSourceBytes bounds a script, which is one file.
	maxSourceBytes = 1 << 20
	// maxExpression bounds one expression, in code points.
	maxExpression = 100_000
	// maxExpressionNesting bounds expressions in expressions: the parser recurses.
	maxExpressionNesting = 250
	// maxSourceNesting bounds the nesting of a document's YAML.
	maxSourceNesting = 500
	// maxAliased bounds the parts of a document that are compiled for aliases: within a loop each is compiled anew.
	maxAliased = 20_000
	// maxCost bounds one call, in steps of comprehensions and calls of functions (see
	// cost.go). It takes one or two seconds.
	maxCost = 10_000_000
	// elementCost is that of an element of ${forEach}, which takes an evaluation.
	elementCost = 10
	// stepsBetweenChecks is after how many steps of a comprehension the context is looked at.
	stepsBetweenChecks = 100
	// maxRange bounds the list that lists.range makes, before it is charged.
	maxRange = 100_000
	// maxDistinct bounds the list given to distinct, which compares each with each.
	maxDistinct = 1000
	// maxAnswerNesting bounds objects in objects, in the response.
	maxAnswerNesting = 500
)
