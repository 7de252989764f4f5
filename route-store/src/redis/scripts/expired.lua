-- Takes the name of what has expired out of its list, unless it is back. KEYS: what has expired, the list. ARGV: name, the
-- command that takes it out.
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call(ARGV[2], KEYS[2], ARGV[1]) end
return 'OK'
