-- KEYS: the value, the keys of its space. ARGV: expected, key.
local current = version_of(redis.call('GET', KEYS[1]))
if not met(ARGV[1], current) then return {'conflict', current or ''} end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[2])
return {'done'}
