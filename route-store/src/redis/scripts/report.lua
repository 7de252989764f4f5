-- KEYS: the replica, the ids of all. ARGV: id, milliseconds, what it says.
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
redis.call('SADD', KEYS[2], ARGV[1])
return 'OK'
