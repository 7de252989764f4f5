-- Forgets the oldest deletion and the past of its host. KEYS: meta, deleted, versions and history of the host. ARGV: the host,
-- the revision that deleted it.
local score = redis.call('ZSCORE', KEYS[2], ARGV[1])
if score and text(tonumber(score)) == ARGV[2] then
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('DEL', KEYS[3], KEYS[4])
  redis.call('HSET', KEYS[1], 'forgotten', ARGV[2])
end
return 'OK'
