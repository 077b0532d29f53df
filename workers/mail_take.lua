-- mail_take: give the oldest mail to one worker at a time, unless the server is left alone for now
-- KEYS[1]  list of mails (infra.keys.mails)   KEYS[2]  lease (infra.keys.once)   KEYS[3]  pause (infra.keys.once)
-- ARGV[1]  token of the lease   ARGV[2]  its length, ms
-- RETURNS Mail, JSON, or '' if there is none, or none for this worker now
local mails, lease, pause = KEYS[1], KEYS[2], KEYS[3]
local token, lease_ms = ARGV[1], ARGV[2]
local oldest = redis.call('LINDEX', mails, 0)
if not oldest or redis.call('EXISTS', pause) == 1 then return '' end
if not redis.call('SET', lease, token, 'NX', 'PX', lease_ms) then return '' end
return oldest
