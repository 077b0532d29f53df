-- record: write down one model call, once, however often it is tried
-- KEYS[1]  mark of this call (infra.keys.call)   KEYS[2]  stream of calls (infra.keys.calls)
-- ARGV[1]  CallRecord, JSON   ARGV[2]  records kept, about   ARGV[3]  ttl of the mark, ms   ARGV[4]  ttl of the stream, ms
-- RETURNS 1, or 0 if it was written before
local mark, calls = KEYS[1], KEYS[2]
local record, kept, mark_ttl_ms, calls_ttl_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('EXISTS', mark) == 1 then return 0 end
redis.call('XADD', calls, 'MAXLEN', '~', kept, '*', 'record', record)      -- fails on a wrong type: before the mark
redis.call('PEXPIRE', calls, calls_ttl_ms)
redis.call('SET', mark, '1', 'PX', mark_ttl_ms)
return 1
