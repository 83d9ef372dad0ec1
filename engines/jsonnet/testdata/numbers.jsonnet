function(request) { one: 1, half: 3 / 2, negative: -3, large: 9007199254740991, product: request.a * request.b }
