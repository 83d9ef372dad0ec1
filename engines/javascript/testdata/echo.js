export function sync(request) { return request.value }
