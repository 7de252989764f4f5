-- KEYS: meta, order, deleted, routes, versions, history. ARGV: epoch, channel, host, expected, author, what is kept, put |
-- delete | rollback, then the schema version and the document, nothing, or the version.
local epoch = ensure(KEYS[1], KEYS[2], KEYS[3], ARGV[1])
local host, kind, keep = ARGV[3], ARGV[7], tonumber(ARGV[6])
local current = version_of(redis.call('HGET', KEYS[4], host))
if not met(ARGV[4], current) then return {'conflict', current or ''} end
if kind == 'delete' and not current then
  return {'same', epoch, redis.call('HGET', KEYS[1], 'revision') or '0'}
end
local kept
if kind == 'rollback' then
  kept = redis.call('HGET', KEYS[5], ARGV[8])
  if not kept then return {'unknown'} end
end
local revision = text(redis.call('HINCRBY', KEYS[1], 'revision', 1))
local detail = '0'
if kind == 'delete' then
  redis.call('HDEL', KEYS[4], host)
  redis.call('ZREM', KEYS[2], host)
  redis.call('ZADD', KEYS[3], revision, host)
else
  local version
  if kind == 'put' then
    version, kept, detail = revision, ARGV[8] .. ':' .. ARGV[9], ARGV[8]
    redis.call('HSET', KEYS[5], version, kept)
    if redis.call('HLEN', KEYS[5]) > keep then
      local versions = redis.call('HKEYS', KEYS[5])
      table.sort(versions, function(a, b) return tonumber(a) > tonumber(b) end)
      for index = keep + 1, #versions do redis.call('HDEL', KEYS[5], versions[index]) end
    end
  else
    version, detail = ARGV[8], ARGV[8]
  end
  redis.call('HSET', KEYS[4], host, version .. ':' .. revision .. ':' .. kept)
  redis.call('ZADD', KEYS[2], revision, host)
  redis.call('ZREM', KEYS[3], host)
end
local at = redis.call('TIME')[1]
redis.call('LPUSH', KEYS[6], revision .. ':' .. at .. ':' .. kind .. ':' .. detail .. ':' .. ARGV[5])
redis.call('LTRIM', KEYS[6], 0, keep - 1)
redis.call('PUBLISH', ARGV[2], revision)
return {'done', epoch, revision}
