"""Every key koi uses. One koi per Redis database.

Each key has a TTL, or stands in PERMANENT: those are the promises (waiting messages, unsent replies, dead letters)
and who was let in. A test scans a used database for keys that break this.
"""

LANE_PREFIX = "koi:lane:"
LEASE_PREFIX = "arq:in-progress:"
JOB_PREFIX = "arq:job:"
"""arq's own two (a test compares them), written out since importing arq takes longer than a health check may."""
EPOCH_PREFIX = "koi:epoch:"
OWNER_LANES_PREFIX = "koi:lanes-of:"
FOLD_PREFIX = "koi:fold:"
PENDING_PREFIX = "koi:pending:"
PARKED_PREFIX = "koi:parked:"
FACTS_PREFIX = "koi:facts:"
TURNS_PREFIX = "koi:turns:"

PERMANENT = (
    "koi:q:*",            # queues, with their doorbells
    "koi:lane:*:items",   # ids that wait, in order
    "koi:lane:*:bodies",  # waiting messages, unsent replies
    "koi:lane:*:state",   # the turn that is fixed, failures, deaths; gone when the lane is empty
    "koi:lane:out:*:kept",  # which parts of an unsent reply were sent
    "arq:job:*",          # lane jobs
    "koi:fence",          # last token given out
    "koi:dead:*",         # dead letters of an owner
    "koi:dead",           # their ids
    "koi:people",         # who was let in
    "koi:groups",         # the same of groups
    "koi:pairing",        # the code for the first owner; gone once used
    "koi:expiry",         # which keys hold text, by when it must go
    "koi:count:*",        # counters
    "koi:choice:*",       # the model that a person asked for
    "koi:things:*",       # tasks, memos, events and reminders of an owner
    "koi:facts:*",        # what a person asked to be known of them
    "koi:due",            # reminders, by when they fire
    "koi:profile:*",      # language and zone of a person
    "koi:project:*",      # the project that a lane is in
    "koi:rich:*",         # that a chat wants rich messages
    "koi:bots",           # what each bot is called now
    "koi:mails",          # alerts that are still to be mailed
    "koi:paused",         # bots that somebody has paused
)  # fmt: skip


# ── lanes ────────────────────────────────────────────────────────────────────────────────────────────────────────
def inbox_job(lane: str) -> str:
    return f"in:{lane}"


def outbox_job(lane: str) -> str:
    return f"out:{lane}"


def fold_job(lane: str) -> str:
    """The side of a lane that folds what its conversation dropped into a summary (memory.fold), for whoever thinks."""
    return f"fold:{lane}"


def inbox_queue() -> str:
    """zset job id → when it is due, ms of Redis' clock, of a parked one 10¹³ later (infra.pause). One queue for all workers; it
    has the fold jobs too.
    """
    return "koi:q:in"


def outbox_queue(bot_id: str) -> str:
    """The same for what one bot has to send."""
    return f"koi:q:out:{bot_id}"


def queue_of(job_id: str) -> str:
    """The queue that the job of a lane belongs to."""
    side, bot_id = job_id.split(":")[:2]
    return outbox_queue(bot_id) if side == "out" else inbox_queue()


def bell(queue: str) -> str:
    """list; BLPOP wakes a worker."""
    return f"{queue}:bell"


def items(job_id: str) -> str:
    """list of `solo:item_id`, solo 0 or 1, oldest first."""
    return f"{LANE_PREFIX}{job_id}:items"


def bodies(job_id: str) -> str:
    """hash item id → JSON."""
    return f"{LANE_PREFIX}{job_id}:bodies"


def state(job_id: str) -> str:
    """hash: owner, queue, turn, taken, open, deaths, failures, single, not_before, hold_until, held_since, epoch."""
    return f"{LANE_PREFIX}{job_id}:state"


def kept(job_id: str) -> str:
    """hash name → bytes: what the running turn has put aside for its retry."""
    return f"{LANE_PREFIX}{job_id}:kept"


def done(job_id: str) -> str:
    """string: last committed turn id; makes a repeated commit harmless."""
    return f"{LANE_PREFIX}{job_id}:done"


def lease(job_id: str) -> str:
    """string: token of who works on the lane (arq's in-progress key)."""
    return LEASE_PREFIX + job_id


def job(job_id: str) -> str:
    """string: arq's job, {function, args}."""
    return JOB_PREFIX + job_id


def fence() -> str:
    """counter: every claim gets a token of its own."""
    return "koi:fence"


def claim_of(item_id: str) -> str:
    """string: this update was taken; kept 48 h. Of one that waits in a lane: when, ms of Redis' clock (lanes.claim.Claim.age_ms)."""
    return f"koi:seen:{item_id}"


def forgot(item_id: str) -> str:
    """string: how many entries and facts the /forget of this update removed; 48 h, so that a repeat removes no more."""
    return f"koi:forgot:{item_id}"


def offset(bot_id: str) -> str:
    """string: next update id to ask Telegram for."""
    return f"koi:offset:{bot_id}"


# ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────
def ring(owner: str) -> str:
    """list of RingEntry JSON, oldest first."""
    return f"koi:ring:{owner}"


def session(lane: str) -> str:
    """string: Session JSON."""
    return f"koi:session:{lane}"


def answer(lane: str) -> str:
    """string: AnswerRecord JSON of the last answer."""
    return f"koi:answer:{lane}"


def fold(lane: str) -> str:
    """string: Fold JSON, what a conversation's dropped exchanges were folded into; the next turn takes it."""
    return f"{FOLD_PREFIX}{lane}"


def turns(owner: str) -> str:
    """list of TurnRecord JSON, oldest first: what the owner's newest answers were made of."""
    return f"{TURNS_PREFIX}{owner}"


def epoch(owner: str) -> str:
    """counter: raised when the owner forgets; a turn begun before stores no text."""
    return EPOCH_PREFIX + owner


def lanes_of(owner: str) -> str:
    """set of job ids (in:…, out:… and fold:…) whose lanes may hold text of this owner."""
    return OWNER_LANES_PREFIX + owner


def expiry() -> str:
    """zset of keys.ring(…), session(…), fold(…), turns(…), pending(…) and parked(…) → stamp (koi's clock) at which something in them
    expires.
    """
    return "koi:expiry"


# ── what is kept on request ──────────────────────────────────────────────────────────────────────────────────────
def things(owner: str) -> str:
    """hash id → Task, Memo, Event or Reminder JSON; `version`: counts changes, gives the next id its number."""
    return f"koi:things:{owner}"


def facts(owner: str) -> str:
    """hash id → Fact JSON."""
    return FACTS_PREFIX + owner


def due() -> str:
    """zset `owner|reminder id` → when it fires, ms of koi's clock."""
    return "koi:due"


def pending(lane: str) -> str:
    """string: Pending JSON, the question or preview that waits for the person; max_age."""
    return PENDING_PREFIX + lane


def profile(user_id: str) -> str:
    """string: Profile JSON."""
    return f"koi:profile:{user_id}"


def project(lane: str) -> str:
    """string: name of the project that the lane is in; no key: none."""
    return f"koi:project:{lane}"


def rich(chat_id: str) -> str:
    """string: "1", answers in this chat may be rich messages, of whichever bot; no key: they are ordinary ones."""
    return f"koi:rich:{chat_id}"


def parked(lane: str) -> str:
    """string: Parked JSON, conversations of other projects that may go on; as long as a session."""
    return PARKED_PREFIX + lane


# ── dead letters ─────────────────────────────────────────────────────────────────────────────────────────────────
def unkept(item_id: str) -> str:
    """string: a turn from before its owner's /forget pushed this reply: it is sent, but never a dead letter; 400 days."""
    return f"koi:unkept:{item_id}"


def dead() -> str:
    """zset `owner|item_id` → stamp."""
    return "koi:dead"


def dead_of(owner: str) -> str:
    """hash item id → DeadLetter JSON."""
    return f"koi:dead:{owner}"


# ── bots ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def bots() -> str:
    """hash bot id → BotNow JSON; one field for every bot there ever was."""
    return "koi:bots"


# ── people ───────────────────────────────────────────────────────────────────────────────────────────────────────
def people() -> str:
    """hash user id → Person JSON."""
    return "koi:people"


def pairing() -> str:
    """string: the code that makes its sender the owner."""
    return "koi:pairing"


def tries(user_id: str) -> str:
    """counter: wrong pairing codes of this person; one hour."""
    return f"koi:tries:{user_id}"


def groups() -> str:
    """hash chat id → Group JSON."""
    return "koi:groups"


def knock(who: str) -> str:
    """hash: knock, Knock JSON; until; times, how often it was asked; as long as its code is good."""
    return f"koi:knock:{who}"


def knocks(kind: str) -> str:
    """zset who → when its code is over, ms of koi's clock; kind: person, group."""
    return f"koi:knocks:{kind}"


def menu(bot_id: str) -> str:
    """hash scope:language → hash of the commands that Telegram shows there; 30 days."""
    return f"koi:menu:{bot_id}"


# ── sending ──────────────────────────────────────────────────────────────────────────────────────────────────────
def send_limit(bot_id: str, chat_id: str = "") -> str:
    """string: GCRA arrival time of a chat, or of the whole bot."""
    return f"koi:limit:{bot_id}:{chat_id}"


def send_pause(bot_id: str, chat_id: str = "") -> str:
    """string: Telegram said 429; its TTL is the rest of the wait."""
    return f"koi:pause:{bot_id}:{chat_id}"


def typing_channel(bot_id: str) -> str:
    """pub/sub: `chat:topic` of a turn that takes longer."""
    return f"koi:typing:{bot_id}"


def draft_channel(bot_id: str) -> str:
    """pub/sub: TurnDraft JSON, what a turn has written so far."""
    return f"koi:draft:{bot_id}"


def stop(lane: str) -> str:
    """string: which turn of the lane is to end early: its id, or that of the message it will answer first; 10 minutes."""
    return f"koi:stop:{lane}"


def stop_channel() -> str:
    """pub/sub: the same value, of any lane."""
    return "koi:stops"


def sent_answers(lane: str) -> str:
    """list of "message turn": the newest messages that are answers of the bot (infra.sent_answers); 24 h."""
    return f"koi:sent:{lane}"


def local_channel(lane: str) -> str:
    """pub/sub: replies for the `koi chat` windows of a lane."""
    return f"koi:local:{lane}"


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────
def file_requests(bot_id: str) -> str:
    """list of FileRequest JSON: what running turns want of this bot; a minute."""
    return f"koi:files:{bot_id}"


def file(turn_id: str, unique_id: str) -> str:
    """list of one: FileAnswer JSON, a line end, the bytes. Who takes it, removes it; else two minutes."""
    return f"koi:file:{turn_id}:{unique_id}"


def albums(owner: str) -> str:
    """zset "bot:album InboundMessage JSON" → when it goes, ms of Redis' clock: items of albums in a group topic in which nobody
    spoke to the bot (bot.albums); ten minutes at most.
    """
    return f"koi:albums:{owner}"


def album(bot_id: str, album_id: str) -> str:
    """string: somebody speaks to the bot in this album; 24 h, as long as Telegram keeps the items that are to come."""
    return f"koi:album:{bot_id}:{album_id}"


# ── operations ───────────────────────────────────────────────────────────────────────────────────────────────────
def alive(kind: str) -> str:
    """zset process id → when it was last seen, ms of Redis' clock; kind: one of infra.health.KINDS."""
    return f"koi:alive:{kind}"


def slots(process_id: str) -> str:
    """string: how many turns this worker can have in work at once; as long as it says that it lives."""
    return f"koi:slots:{process_id}"


def once(what: str) -> str:
    """string: something that must not happen again within its TTL (an alert, a sweep)."""
    return f"koi:once:{what}"


def count(what: str) -> str:
    """counter: swept, fenced, …"""
    return f"koi:count:{what}"


def life() -> str:
    """capped stream: field `turn` → TurnLife JSON, or `sent` → SentLife JSON; 31 days."""
    return "koi:life"


def minutes(day: str) -> str:
    """hash of a UTC day ("2026-11-30"): "HHMM:what" and "total:what" → how many; 32 days. what: messages, answered, fallback,
    failed, turns, conversations, exchanges, retries.
    """
    return f"koi:minutes:{day}"


def ran(what: str) -> str:
    """string: JobRun JSON, how the last run of a periodic job ended; a week."""
    return f"koi:ran:{what}"


def paused() -> str:
    """hash bot id, or "*" for all → since when nothing of it is begun (infra.pause), ms of koi's clock."""
    return "koi:paused"


def audit() -> str:
    """capped stream of Action JSON: what was done on the dashboard; 400 days."""
    return "koi:audit"


def login_tries(address: str) -> str:
    """counter: passwords of the dashboard that were tried from an address, or "*" from all; five minutes."""
    return f"koi:logins:{address}"


def dashboard_secret() -> str:
    """string: 32 random bytes behind the signatures of the dashboard's cookies; 400 days after its last start."""
    return "koi:dashboard:secret"


def call(call_id: str) -> str:
    """string: this model call is recorded; guards against recording it twice."""
    return f"koi:call:{call_id}"


def calls() -> str:
    """capped stream of CallRecord JSON."""
    return "koi:calls"


# ── models and money ─────────────────────────────────────────────────────────────────────────────────────────────
def ratios(lane: str) -> str:
    """hash model → how its real token counts compare with koi's estimate in this chat (memory.ratio); 30 days."""
    return f"koi:ratios:{lane}"


def choice(lane: str) -> str:
    """string: "light" or "strong", what a person asked for with /model; no key: koi chooses."""
    return f"koi:choice:{lane}"


def breaker_failures(service: str, model: str) -> str:
    """counter: failures of a model without a success between them; a few minutes."""
    return f"koi:breaker:{service}:{model}:failures"


def breaker_open(service: str, model: str) -> str:
    """hash: since, until, probe: nobody asks this model but one probe at a time."""
    return f"koi:breaker:{service}:{model}:open"


def outage(model: str) -> str:
    """string: Outage JSON: the owner was told that this model fails, and hears when it is back; a week."""
    return f"koi:outage:{model}"


def mails() -> str:
    """list of Mail JSON, oldest first."""
    return "koi:mails"


def spent(user_id: str, period: str) -> str:
    """hash of a person's use; 62 days. Of a day ("2026-11-30"): messages, answers, others (calls that were none), tokens
    by kind, microusd, unpriced. Of a month ("2026-11"): microusd only, reservations included.
    """
    return f"koi:spent:{user_id}:{period}"


def reserved(call_id: str) -> str:
    """string: what was reserved for a call that has not ended, and where."""
    return f"koi:reserved:{call_id}"


def counted(message_id: str) -> str:
    """string: this message was counted against a plan; it is not counted again by a retry, or when a batch is split."""
    return f"koi:counted:{message_id}"
