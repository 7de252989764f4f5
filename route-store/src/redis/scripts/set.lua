-- KEYS: meta, order, deleted, the value, the keys of its space. ARGV: epoch, expected, key, milliseconds or 0, bytes.
ensure(KEYS[1], KEYS[2], KEYS[3], ARGV[1])
local current = version_of(redis.call('GET', KEYS[4]))
if not met(ARGV[2], current) then return {'conflict', current or ''} end
local version = text(redis.call('HINCRBY', KEYS[1], 'last_value', 1))
local stored = version .. ':' .. ARGV[5]
if ARGV[4] == '0' then
  redis.call('SET', KEYS[4], stored)
else
  redis.call('SET', KEYS[4], stored, 'PX', ARGV[4])
end
redis.call('ZADD', KEYS[5], 0, ARGV[3])
return {'done', version}
