-- KEYS: meta, order, deleted. ARGV: epoch.
local epoch = ensure(KEYS[1], KEYS[2], KEYS[3], ARGV[1])
return {epoch, redis.call('HGET', KEYS[1], 'revision') or '0'}
