-- breaker_release: the probe said nothing: the next turn may try at once
-- KEYS[1] open, hash (infra.keys.breaker_open)   ARGV[1] the probe's lease, as it was given
-- RETURNS 1 if it was still this one's, else 0
if redis.call('HGET', KEYS[1], 'probe') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'probe', 0)
return 1
