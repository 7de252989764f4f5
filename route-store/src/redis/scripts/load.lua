-- KEYS: meta, order, deleted, routes. ARGV: epoch, the revision after which to look, the revision that is known, how many
-- routes and how many bytes to give at most. Gives the epoch, the revision, the deletions forgotten, the revision of the last
-- route given, whether there are more, routes as host and document in turn, and hosts deleted since what is known.
local epoch = ensure(KEYS[1], KEYS[2], KEYS[3], ARGV[1])
local revision = redis.call('HGET', KEYS[1], 'revision') or '0'
local forgotten = redis.call('HGET', KEYS[1], 'forgotten') or '0'
local found = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[2], '+inf', 'WITHSCORES', 'LIMIT', 0, tonumber(ARGV[4]))
local routes, bytes, last, more = {}, 0, ARGV[2], '0'
for index = 1, #found, 2 do
  if bytes >= tonumber(ARGV[5]) then
    more = '1'
    break
  end
  local stored = redis.call('HGET', KEYS[4], found[index])
  if stored then
    routes[#routes + 1] = found[index]
    routes[#routes + 1] = stored
    bytes = bytes + #stored
  end
  last = found[index + 1]
end
if #found >= 2 * tonumber(ARGV[4]) then more = '1' end
local gone = {}
if more == '0' then gone = redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[3], '+inf') end
return {epoch, revision, forgotten, last, more, routes, gone}
