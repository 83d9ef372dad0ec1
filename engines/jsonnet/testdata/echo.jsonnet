function(request) request.value
