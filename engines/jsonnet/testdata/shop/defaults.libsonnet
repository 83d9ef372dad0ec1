{
  config:: { zone: 'eu', level: 'info', banner: importstr 'lib/banner.txt', limits: { cpu: '100m' } },
}
