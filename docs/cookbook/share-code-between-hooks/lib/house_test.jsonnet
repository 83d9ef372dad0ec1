local house = import 'house.libsonnet';

{
  labels: {
    actual: house.labels({ metadata: { name: 'search' }, spec: { team: 'shop' } }),
    expected: { app: 'search', team: 'shop' },
  },
  image: {
    local image(name) = house.image(name, 'registry.example.com'),
    'without a registry': { actual: image('shop:1'), expected: 'registry.example.com/shop:1' },
    'in a folder': { actual: image('team/shop:1'), expected: 'registry.example.com/team/shop:1' },
    'of another registry': { actual: image('ghcr.io/team/shop:1'), expected: 'ghcr.io/team/shop:1' },
    'of one with a port': { actual: image('localhost:5000/shop'), expected: 'localhost:5000/shop' },
  },
}
