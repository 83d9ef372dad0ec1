{ mi(n):: if n % 1024 == 0 then '%dGi' % (n / 1024) else '%dMi' % n }
