-- record: write down ended model calls, each once, however often it is tried
-- KEYS[1]  stream of calls (infra.keys.calls)   KEYS[2…]  mark of each call (infra.keys.call)
-- ARGV[1]  records kept, about   ARGV[2]  ttl of a mark, ms   ARGV[3]  ttl of the stream, ms   ARGV[4…]  CallRecord, JSON
-- RETURNS how many were new
local calls = KEYS[1]
local kept, mark_ttl_ms, calls_ttl_ms = ARGV[1], ARGV[2], ARGV[3]
local new = 0
for i = 2, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then
    redis.call('XADD', calls, 'MAXLEN', '~', kept, '*', 'record', ARGV[i + 2])      -- fails on a wrong type: before the mark
    redis.call('SET', KEYS[i], '1', 'PX', mark_ttl_ms)
    new = new + 1
  end
end
redis.call('PEXPIRE', calls, calls_ttl_ms)
return new
