function(request)
  local why = 'boom';
  error why
