export function sync(request) {
  request.labels.a = 'changed';
  request.list.sort((x, y) => x - y);
  delete request.missing;
  return request;
}
